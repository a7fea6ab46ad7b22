-- Whether the person who agreed changed the arguments first.
ALTER TABLE confirmations ADD COLUMN edited BOOLEAN NOT NULL DEFAULT FALSE;
