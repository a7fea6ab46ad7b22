"""The gateway's tables, in SQL that every store understands. Scripts are only ever added: stores have applied the others."""

APP = "gateway"
SCRIPTS = (
    (
        "0001_turns",
        """
        CREATE TABLE gateway_turns (
            tenant TEXT NOT NULL,
            thread TEXT NOT NULL,
            position INTEGER NOT NULL,
            response_id TEXT NOT NULL,
            parent_thread TEXT NOT NULL,
            parent_position INTEGER NOT NULL,
            created BIGINT NOT NULL,
            turn TEXT NOT NULL,
            response TEXT NOT NULL,
            PRIMARY KEY (tenant, thread, position)
        );
        CREATE UNIQUE INDEX gateway_turns_by_response ON gateway_turns (tenant, response_id);
        CREATE TABLE gateway_steps (
            tenant TEXT NOT NULL,
            step TEXT NOT NULL,
            created BIGINT NOT NULL,
            items TEXT NOT NULL,
            PRIMARY KEY (tenant, step)
        );
        """,
    ),
    (
        "0002_relay",
        """
        CREATE TABLE gateway_relay_steps (
            tenant TEXT NOT NULL,
            session TEXT NOT NULL,
            step_id TEXT NOT NULL,
            created BIGINT NOT NULL,
            context TEXT NOT NULL,
            items TEXT NOT NULL,
            is_open INTEGER NOT NULL,
            PRIMARY KEY (tenant, session, step_id)
        );
        CREATE TABLE gateway_relay_calls (
            tenant TEXT NOT NULL,
            session TEXT NOT NULL,
            call_id TEXT NOT NULL,
            step_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            name TEXT NOT NULL,
            arguments TEXT NOT NULL,
            state TEXT NOT NULL,
            result TEXT NOT NULL,
            PRIMARY KEY (tenant, session, call_id)
        );
        """,
    ),
    (
        "0003_answers",
        """
        CREATE TABLE gateway_answers (
            tenant TEXT NOT NULL,
            request_key TEXT NOT NULL,
            digest TEXT NOT NULL,
            holder TEXT NOT NULL,
            held_until BIGINT NOT NULL,
            expires BIGINT NOT NULL,
            status INTEGER NOT NULL,
            headers TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (tenant, request_key)
        );
        CREATE INDEX gateway_answers_by_expiry ON gateway_answers (expires);
        """,
    ),
    (
        "0004_retention",
        """
        CREATE TABLE gateway_leases (
            name TEXT NOT NULL PRIMARY KEY,
            holder TEXT NOT NULL,
            held_until BIGINT NOT NULL
        );
        CREATE INDEX gateway_turns_by_parent ON gateway_turns (tenant, parent_thread);
        CREATE INDEX gateway_steps_by_age ON gateway_steps (created);
        CREATE INDEX gateway_relay_steps_by_age ON gateway_relay_steps (created);
        CREATE INDEX gateway_relay_calls_by_step ON gateway_relay_calls (tenant, session, step_id);
        """,
    ),
)
