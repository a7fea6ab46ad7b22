CREATE TABLE sessions (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    mode TEXT COLLATE "C" NOT NULL,
    registry_version TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    turns BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    peak_tokens BIGINT NOT NULL,
    loop_history TEXT COLLATE "C" NOT NULL,
    turns_tracked BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION,
    version BIGINT NOT NULL,
    UNIQUE (tenant, session_id)
);
CREATE INDEX sessions_by_tenant ON sessions (tenant, seq);

-- Sums over a tenant's sessions, kept with each change.
CREATE TABLE session_totals (
    tenant TEXT COLLATE "C" PRIMARY KEY,
    total BIGINT NOT NULL,
    active BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    turns_tracked BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    peak_tokens BIGINT NOT NULL
);

CREATE TABLE artifacts (
    version TEXT COLLATE "C" PRIMARY KEY,
    body BYTEA NOT NULL
);

-- seq is the number of the call's audit record.
CREATE TABLE calls (
    seq BIGINT PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    turn BIGINT NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C" NOT NULL,
    raw TEXT COLLATE "C" NOT NULL,
    input_digest TEXT COLLATE "C" NOT NULL,
    result BYTEA NOT NULL,
    ok BOOLEAN NOT NULL,
    error_type TEXT COLLATE "C" NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    executed BOOLEAN NOT NULL,
    duration_ms DOUBLE PRECISION NOT NULL,
    chars BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    effect_id TEXT COLLATE "C" NOT NULL,
    parent_call_id TEXT COLLATE "C" NOT NULL,
    variant TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    UNIQUE (tenant, session_id, call_id)
);
CREATE INDEX calls_by_tenant ON calls (tenant, seq);
CREATE INDEX calls_by_session ON calls (tenant, session_id, seq);
CREATE INDEX calls_by_tool ON calls (tenant, tool, executed, seq);

CREATE TABLE effects (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    effect_id TEXT COLLATE "C" NOT NULL UNIQUE,
    tenant TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    input_digest TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    attempt TEXT COLLATE "C" NOT NULL,
    lease_until DOUBLE PRECISION NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    raw TEXT COLLATE "C" NOT NULL,
    result BYTEA,
    note TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    UNIQUE (tenant, tool, key)
);
CREATE INDEX effects_by_status ON effects (status, tenant, seq);
CREATE INDEX effects_by_tenant ON effects (tenant, seq);

CREATE TABLE counters (
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    used DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, name, scope)
);

-- is_current marks the one question of a binding that may still be open.
CREATE TABLE confirmations (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    confirmation_id TEXT COLLATE "C" NOT NULL UNIQUE,
    tenant TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    input_digest TEXT COLLATE "C" NOT NULL,
    question TEXT COLLATE "C" NOT NULL,
    arguments TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    decided_at DOUBLE PRECISION,
    decided_by TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C" NOT NULL,
    is_current BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX confirmations_current ON confirmations (tenant, session_id, tool, input_digest) WHERE is_current;
CREATE INDEX confirmations_by_tenant ON confirmations (tenant, seq);
CREATE INDEX confirmations_by_status ON confirmations (tenant, status, seq);

CREATE TABLE blobs (
    tenant TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, session_id, ref)
);

CREATE TABLE audit (
    seq BIGINT PRIMARY KEY,
    previous_hash TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    tool_name TEXT COLLATE "C" NOT NULL,
    input_hash TEXT COLLATE "C" NOT NULL,
    output_hash TEXT COLLATE "C" NOT NULL,
    success BOOLEAN NOT NULL,
    duration_ms DOUBLE PRECISION NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    parent_call_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C" NOT NULL,
    intents TEXT COLLATE "C" NOT NULL,
    approver TEXT COLLATE "C" NOT NULL,
    effect_key TEXT COLLATE "C" NOT NULL,
    variant TEXT COLLATE "C" NOT NULL,
    registry_version TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_tenant ON audit (tenant, seq);

CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL
);
INSERT INTO audit_head (id, seq, hash)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
