-- Arguments that are filled in for the tool: whoever changes the others neither types nor changes these.
ALTER TABLE confirmations ADD COLUMN supplied TEXT NOT NULL DEFAULT '[]';
