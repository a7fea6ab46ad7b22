"""A memory of tool lists. Clients send the same tools with every request; read and written once is enough.

Nothing depends on it but speed: a list is found by its bytes, so another list is never taken for it. Whoever owns a
cache may share it between requests, dialects and tasks. Values that come out of it must not be changed.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import msgspec
import orjson
from msgspec import Struct

from groundwire.codecs.wire.json import dump, read_object
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.replies import WireWarning

MAX_BYTES = 1_000_000
"""A longer list is not remembered."""
MAX_TOTAL = 16_000_000
"""Of all lists together; their parsed and written forms take several times as much."""

_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode
_T = TypeVar("_T")


class _Written(Struct, frozen=True):
    fragment: Any
    names: NameTable
    warnings: tuple[WireWarning, ...]


class ToolCache:
    """Remembers the last `size` lists."""

    def __init__(self, size: int = 256, *, max_bytes: int = MAX_BYTES, max_total: int = MAX_TOTAL) -> None:
        self._size = size
        self._max_bytes = max_bytes
        self._max_total = max_total
        self._parsed: dict[bytes, Any] = {}
        self._total = 0
        self._made: dict[tuple[int, Hashable], tuple[Any, Any]] = {}

    def parse(self, body: bytes) -> JsonObject:
        """The object that the body is, with the same `tools` for the same bytes; or a WireError as without a cache."""
        try:
            members = _split(body)
            raw = members.get("tools")
            if raw is None:
                return read_object(body)
            parsed: JsonObject = {name: _decode(value) for name, value in members.items() if name != "tools"}
            parsed["tools"] = self.parse_tools(bytes(raw))
        except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError):
            return read_object(body)
        return parsed

    def parse_tools(self, text: bytes) -> Any:
        """The value that the JSON text is, the same for the same text; or msgspec's error."""
        tools = self._parsed.get(text)
        if tools is None:
            tools = _decode(text)
            if tools and len(text) <= self._max_bytes:
                self._total += len(text)
                while self._total > self._max_total or len(self._parsed) >= self._size:
                    self._forget()
                self._parsed[text] = tools
        return tools

    def _forget(self) -> None:
        """The oldest list, and what was made of it; one that is still in use is soon read again."""
        text = next(iter(self._parsed))
        gone = [self._parsed.pop(text)]
        self._total -= len(text)
        for source in gone:  # which grows: what was made of it goes too, and what was made of that
            made = [key for key in self._made if key[0] == id(source)]
            gone.extend([self._made.pop(key)[1] for key in made])

    def once(self, source: Any, variant: Hashable, make: Callable[[], _T]) -> _T:
        """What `make` gives for this very value; made again only after it was forgotten."""
        made: _T | None = self.recall(source, variant)
        if made is None:
            made = make()
            _keep(self._made, (id(source), variant), (source, made), 4 * self._size)
        return made

    def recall(self, source: Any, variant: Hashable) -> Any:
        """Return what `once` made for this very object; None if it made nothing, or it was evicted."""
        found = self._made.get((id(source), variant))
        return found[1] if found is not None and found[0] is source else None

    def write(
        self, tools: Any, variant: Hashable, names: NameTable, losses: Losses, make: Callable[[NameTable, Losses], Any]
    ) -> Any:
        """The wire form of a tool list, ready to be put into a body, with its names declared and its losses noted."""

        found: _Written | None = self.recall(tools, variant)
        if found is None:
            found = self.once(tools, variant, lambda: _written(names, make))
        names.adopt(found.names)
        for warning in found.warnings:
            losses.add(warning.code, warning.path, warning.message)
        return found.fragment


def _written(names: NameTable, make: Callable[[NameTable, Losses], Any]) -> _Written:
    own = Losses()
    table = names.fresh(own)
    value: JsonValue = make(table, own)
    return _Written(orjson.Fragment(dump(value)) if value else value, table, own.taken())


def read_body(body: bytes | JsonObject, cache: ToolCache | None) -> JsonObject:
    """The object that a body is, with or without a cache."""
    return cache.parse(body) if cache is not None and isinstance(body, bytes) else read_object(body)


def once(cache: ToolCache | None, source: Any, variant: Hashable, make: Callable[[], _T]) -> _T:
    """What `make` gives, remembered for this very source where there is a cache."""
    return make() if cache is None or not source else cache.once(source, variant, make)


def write_once(
    cache: ToolCache | None,
    tools: Any,
    variant: Hashable,
    names: NameTable,
    losses: Losses,
    make: Callable[[NameTable, Losses], Any],
) -> Any:
    """The wire form of a tool list, remembered where there is a cache."""
    return make(names, losses) if cache is None else cache.write(tools, variant, names, losses, make)


def _keep(memory: dict[Any, Any], key: Any, value: Any, size: int) -> None:
    while len(memory) >= size:
        memory.pop(next(iter(memory)), None)
    memory[key] = value
