-- An approval has the call, run and API key that requested it, and what a person needs to know to decide it.
ALTER TABLE confirmations ADD COLUMN run_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE confirmations ADD COLUMN key_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE confirmations ADD COLUMN category TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE confirmations ADD COLUMN argument_schema TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE confirmations ADD COLUMN evidence TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- The binding was stored as session id: a session as it was, or a user or run behind a prefix. It gets a column of its own,
-- in the form of `Turn.approval_binding`, in which a session cannot be mistaken for a user.
DROP INDEX confirmations_current;
ALTER TABLE confirmations ADD COLUMN binding TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE confirmations SET binding =
    CASE
        WHEN session_id = '' THEN ''
        WHEN substr(session_id, 1, 5) = 'user:' THEN
            'user::' || replace(replace(substr(session_id, 6), '%', '%25'), ':', '%3A')
        WHEN substr(session_id, 1, 4) = 'run:' THEN
            'run::' || replace(replace(substr(session_id, 5), '%', '%25'), ':', '%3A')
        ELSE 'session::' || replace(replace(session_id, '%', '%25'), ':', '%3A')
    END;
UPDATE confirmations SET run_id = substr(session_id, 5) WHERE substr(session_id, 1, 4) = 'run:';
UPDATE confirmations SET session_id = '' WHERE substr(session_id, 1, 5) = 'user:' OR substr(session_id, 1, 4) = 'run:';
CREATE UNIQUE INDEX confirmations_current ON confirmations (tenant, binding, tool, input_digest) WHERE is_current;
