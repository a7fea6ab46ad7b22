"""Keys that cannot be printed by accident, and texts from which they are taken out."""

from groundwire.contracts.redaction import HIDDEN


class Secret:
    """A key. Its representation, its text and its format show nothing; only `reveal` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def hide_in(self, text: str) -> str:
        """The text without the key, for errors that echo what they were sent."""
        return text.replace(self._value, HIDDEN) if len(self._value) >= 4 else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)" if self._value else "Secret()"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")
