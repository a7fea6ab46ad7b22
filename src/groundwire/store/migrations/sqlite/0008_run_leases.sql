-- Who executes a run, and from when on any process may take it. Few runs are due or waiting, so both indexes stay small.
ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN due_at REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_due ON runs (due_at) WHERE due_at > 0;
CREATE INDEX runs_to_cancel ON runs (owner) WHERE cancel_requested;

-- The approvals that a paused run waits for. Several runs of a session may wait for the same one.
CREATE TABLE run_waits (
    tenant TEXT NOT NULL,
    run_id TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    PRIMARY KEY (tenant, run_id, approval_id)
);
CREATE INDEX run_waits_by_approval ON run_waits (tenant, approval_id);
