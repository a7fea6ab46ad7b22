"""Server-sent events as incremental reader and writer. Not written yet."""
