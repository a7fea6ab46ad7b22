CREATE TABLE api_keys (
    seq INTEGER PRIMARY KEY,
    key_id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    scopes TEXT NOT NULL,
    models TEXT NOT NULL,
    tools TEXT NOT NULL,
    default_tools TEXT NOT NULL,
    limits TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL,
    revoked_at REAL
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant);

-- One row for each limit of a key, made with the key: what was used in the window that began at `start`.
CREATE TABLE key_usage (
    key_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    start REAL NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (key_id, place)
) WITHOUT ROWID;

-- Counted by triggers, so that no change of a key goes unnoticed, whoever makes it.
CREATE TABLE key_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
);
INSERT INTO key_changes (id, version) VALUES (1, 0);
CREATE TRIGGER api_keys_inserted AFTER INSERT ON api_keys
BEGIN
    UPDATE key_changes SET version = version + 1;
END;
CREATE TRIGGER api_keys_updated AFTER UPDATE ON api_keys
BEGIN
    UPDATE key_changes SET version = version + 1;
END;
CREATE TRIGGER api_keys_deleted AFTER DELETE ON api_keys
BEGIN
    UPDATE key_changes SET version = version + 1;
END;
