"""What all four encoders of live sessions have: a place for losses, a table of tool names, frames that pass as they are."""

from groundwire.codecs.wire.names import NameRule, NameTable
from groundwire.codecs.wire.warnings import Losses, WireWarning
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.frames import NativeFrame


class LiveEncoder:
    """`names` leads from tool names on the wire to the caller's."""

    def __init__(self, dialect: str, tool_names: NameRule, losses: Losses | None) -> None:
        self._dialect = dialect
        self._losses = Losses() if losses is None else losses
        self._table = NameTable(tool_names, self._losses)

    @property
    def names(self) -> dict[str, str]:
        return self._table.names

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

    def _write_native(self, frame: NativeFrame) -> list[JsonObject]:
        if frame.origin == self._dialect:
            return [frame.value]
        kind = frame.value.get("type")
        known_as = kind if isinstance(kind, str) else ", ".join(sorted(frame.value))
        self._losses.add("native_dropped", frame.kind, f"Only {frame.origin} knows this: {known_as}.")
        return []
