"""Tools of other servers: found, pinned, and called as if they were our own. Knows nothing of our own server."""
