"""Pieces of a body for tests of readers that must not copy all that came before with each new piece."""


class Piece(bytes):
    """Bytes that nobody may put behind others, except by joining a whole list at once."""

    def __radd__(self, before):
        raise AssertionError("copied")
