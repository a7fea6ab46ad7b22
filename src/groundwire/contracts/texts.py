"""Text from outside: models, handlers and their exceptions can put anything into a string. Pure."""

NAME_CHARS = 256
"""Of a tool name that a model invented, this much is kept."""


def storable(text: str) -> str:
    """Text that every database and every log can keep: no lone surrogates, no NUL."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
