CREATE TABLE api_keys (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_id TEXT COLLATE "C" NOT NULL UNIQUE,
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    prefix TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    models TEXT COLLATE "C" NOT NULL,
    tools TEXT COLLATE "C" NOT NULL,
    default_tools TEXT COLLATE "C" NOT NULL,
    limits TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant, seq);

-- One row for each limit of a key, made with the key: what was used in the window that began at `start`.
CREATE TABLE key_usage (
    key_id TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    start DOUBLE PRECISION NOT NULL,
    used DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (key_id, place)
);

-- Counted and told by a trigger, so that no change of a key goes unnoticed, whoever makes it.
CREATE TABLE key_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);
INSERT INTO key_changes (id, version) VALUES (1, 0);
CREATE FUNCTION tell_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I.key_changes SET version = version + 1', TG_TABLE_SCHEMA);
    PERFORM pg_notify('groundwire_keys', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER api_keys_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION tell_key_change();
