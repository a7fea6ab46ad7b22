"""Tables of signals on their way, in SQL that every store understands. Scripts are only ever added: stores have applied the others."""

APP = "supplier_signals"
SCRIPTS = (
    (
        "0001_signals",
        """
        CREATE TABLE supplier_signals (
            tenant TEXT NOT NULL,
            signal_id TEXT NOT NULL,
            session_id TEXT NOT NULL,
            created BIGINT NOT NULL,
            signal TEXT NOT NULL,
            body TEXT NOT NULL,
            state TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            status INTEGER NOT NULL,
            error TEXT NOT NULL,
            delivered BIGINT NOT NULL,
            PRIMARY KEY (tenant, signal_id)
        );
        CREATE INDEX supplier_signals_by_age ON supplier_signals (tenant, created, signal_id);
        CREATE INDEX supplier_signals_by_session ON supplier_signals (tenant, session_id, created);
        CREATE TABLE supplier_endpoints (
            tenant TEXT NOT NULL,
            url TEXT NOT NULL,
            disabled BIGINT NOT NULL,
            PRIMARY KEY (tenant, url)
        );
        """,
    ),
)
