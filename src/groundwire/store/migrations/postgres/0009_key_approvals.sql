-- What a call does that needs an approval, where the key says so.
ALTER TABLE api_keys ADD COLUMN approvals TEXT COLLATE "C" NOT NULL DEFAULT '';
