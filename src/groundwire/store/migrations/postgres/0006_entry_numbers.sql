-- An entry's id is the number of its run times 2^24, plus its own number in the run.
CREATE TABLE numbered_entries (
    id BIGINT PRIMARY KEY,
    body BYTEA NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
);
INSERT INTO numbered_entries (id, body, created_at)
SELECT runs.seq * 16777216 + run_entries.seq, run_entries.body, run_entries.created_at
FROM runs JOIN run_entries ON run_entries.tenant = runs.tenant AND run_entries.run_id = runs.run_id
ORDER BY 1;
DROP TABLE run_entries;
ALTER TABLE numbered_entries RENAME TO run_entries;
