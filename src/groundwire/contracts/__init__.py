"""The nouns: immutable data and the ports that other layers implement.

Nothing here knows a clock, a socket, a file or a database; every layer above may import it.
"""
