-- Every index that a call touches costs a page in each commit. So there are only those that a call needs; listings
-- read by number, newest first, and an operator's look-up by id may read the table.

CREATE TABLE sessions (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    mode TEXT NOT NULL,
    registry_version TEXT NOT NULL,
    state TEXT NOT NULL,
    turns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    peak_tokens INTEGER NOT NULL,
    loop_history TEXT NOT NULL,
    turns_tracked INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    ended_at REAL,
    version INTEGER NOT NULL,
    UNIQUE (tenant, session_id)
);
CREATE INDEX sessions_by_tenant ON sessions (tenant, seq);

-- Sums over a tenant's sessions, kept with each change.
CREATE TABLE session_totals (
    tenant TEXT PRIMARY KEY,
    total INTEGER NOT NULL,
    active INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    turns_tracked INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    peak_tokens INTEGER NOT NULL
);

CREATE TABLE artifacts (
    version TEXT PRIMARY KEY,
    body BLOB NOT NULL
);

-- seq is the number of the call's audit record.
CREATE TABLE calls (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    origin TEXT NOT NULL,
    caller TEXT NOT NULL,
    raw TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    result BLOB NOT NULL,
    ok BOOLEAN NOT NULL,
    error_type TEXT NOT NULL,
    step TEXT NOT NULL,
    executed BOOLEAN NOT NULL,
    duration_ms REAL NOT NULL,
    chars INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    effect_id TEXT NOT NULL,
    parent_call_id TEXT NOT NULL,
    variant TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (tenant, session_id, call_id)
);
CREATE INDEX calls_by_tool ON calls (tenant, tool, executed, seq);

CREATE TABLE effects (
    seq INTEGER PRIMARY KEY,
    effect_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    key TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    attempt TEXT NOT NULL,
    lease_until REAL NOT NULL,
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    raw TEXT NOT NULL,
    result BLOB,
    note TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    UNIQUE (tenant, tool, key)
);
CREATE INDEX effects_unknown ON effects (tenant, seq) WHERE status = 'unknown';

CREATE TABLE counters (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (tenant, name, scope)
) WITHOUT ROWID;

-- is_current marks the one question of a binding that may still be open.
CREATE TABLE confirmations (
    seq INTEGER PRIMARY KEY,
    confirmation_id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    question TEXT NOT NULL,
    arguments TEXT NOT NULL,
    status TEXT NOT NULL,
    call_id TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    decided_at REAL,
    decided_by TEXT NOT NULL,
    note TEXT NOT NULL,
    is_current BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX confirmations_current ON confirmations (tenant, session_id, tool, input_digest) WHERE is_current;
CREATE INDEX confirmations_by_tenant ON confirmations (tenant, seq);
CREATE INDEX confirmations_by_status ON confirmations (tenant, status, seq);

CREATE TABLE blobs (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    ref TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at REAL NOT NULL,
    PRIMARY KEY (tenant, session_id, ref)
);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    request_id TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    output_hash TEXT NOT NULL,
    success BOOLEAN NOT NULL,
    duration_ms REAL NOT NULL,
    created_at TEXT NOT NULL,
    error TEXT,
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    parent_call_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    actor TEXT NOT NULL,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL,
    intents TEXT NOT NULL,
    approver TEXT NOT NULL,
    effect_key TEXT NOT NULL,
    variant TEXT NOT NULL,
    registry_version TEXT NOT NULL
);

CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO audit_head (id, seq, hash)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
