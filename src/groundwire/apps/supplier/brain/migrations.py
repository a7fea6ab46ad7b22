"""The brain's own tables, in SQL that every store understands. Scripts are only ever added: stores have applied the others."""

APP = "supplier_brain"
SCRIPTS = (
    (
        "0001_signals",
        """
        CREATE TABLE brain_signals (
            tenant TEXT NOT NULL,
            signal_id TEXT NOT NULL,
            webhook_id TEXT NOT NULL,
            session_id TEXT NOT NULL,
            signal_type TEXT NOT NULL,
            severity TEXT NOT NULL,
            goal_id TEXT NOT NULL,
            received BIGINT NOT NULL,
            deliveries INTEGER NOT NULL,
            signal TEXT NOT NULL,
            PRIMARY KEY (tenant, signal_id)
        );
        CREATE UNIQUE INDEX brain_signals_by_webhook ON brain_signals (tenant, webhook_id);
        CREATE INDEX brain_signals_by_age ON brain_signals (tenant, received, signal_id);
        CREATE TABLE brain_goals (
            tenant TEXT NOT NULL,
            session_id TEXT NOT NULL,
            goal_id TEXT NOT NULL,
            PRIMARY KEY (tenant, session_id, goal_id)
        );
        """,
    ),
)
