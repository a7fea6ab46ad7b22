"""Reading and writing JSON for the dialects. Not written yet."""
