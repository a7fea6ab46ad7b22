-- A tenant's runs are listed by number, those of a session by their index, which has the number in it. Appending to a run
-- changes nothing that is indexed.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    model TEXT NOT NULL,
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    entries INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    UNIQUE (tenant, run_id)
);
CREATE INDEX runs_by_session ON runs (tenant, session_id);

CREATE TABLE run_entries (
    tenant TEXT NOT NULL,
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    created_at REAL NOT NULL,
    PRIMARY KEY (tenant, run_id, seq)
);
