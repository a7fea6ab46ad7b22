"""Tool calls that come in fragments: which fragment belongs to which call.

Servers disagree about ids, indexes and names in the fragments; a call is told by its id, else by its index, else it is
the one that came last. Knows nothing else of the stream.
"""

from collections.abc import Mapping

from groundwire.codecs.openai_chat.turn_reading import call_private, synthetic_id
from groundwire.codecs.wire.building import ReplyBuilder
from groundwire.codecs.wire.json import dump_text, whole_text
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.objects import ObjectReader
from groundwire.codecs.wire.private import unknown_values
from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.canonical import JsonObject, JsonValue

_KNOWN = frozenset({"index", "id", "type", "function", "custom", "name", "arguments"})


class _Call:
    __slots__ = (
        "checked",
        "half",
        "hints",
        "index",
        "is_legacy",
        "name",
        "objects",
        "place",
        "position",
        "waiting",
        "wire_id",
    )

    def __init__(self, position: int, index: int | None, wire_id: str) -> None:
        self.position = position
        self.index = index
        self.wire_id = wire_id
        self.name = ""
        self.place: int | None = None
        self.waiting: list[str] = []
        self.half = ""
        self.hints: JsonObject = {}
        self.is_legacy = False
        self.objects = ObjectReader()
        self.checked = 0


class CallCollector:
    """The calls of one choice, written into its builder. `seed` and `path` make the ids that a server left out."""

    def __init__(self, builder: ReplyBuilder, names: Mapping[str, str], path: str) -> None:
        self._builder = builder
        self._names = names
        self._path = path
        self.seed = ""
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._legacy: _Call | None = None

    def feed(self, entry: JsonObject) -> None:
        index, function = entry.get("index"), entry.get("function")
        if type(function) is dict and len(function) == 1 and "id" not in entry and type(index) is int:
            known = self._by_index.get(index)
            text = function.get("arguments")
            if known is not None and type(text) is str and len(entry) == 2 + ("type" in entry):
                self._write(known, text)
                return
        inner = next((entry[key] for key in ("function", "custom") if isinstance(entry.get(key), dict)), entry)
        call_id, name = entry.get("id"), inner.get("name") if isinstance(inner, dict) else None
        call_id = str(call_id) if isinstance(call_id, (str, int)) and not isinstance(call_id, bool) else ""
        name = name if isinstance(name, str) else ""
        place = index if isinstance(index, int) and not isinstance(index, bool) else None
        call = self._find(place, call_id, name)
        if call is None:
            call = self._begin(place, call_id)
        self._describe(call, entry, name)
        if isinstance(inner, dict):
            self._write(call, _text_of(inner.get("input" if "_custom" in call.hints else "arguments")))

    def feed_legacy(self, function: JsonObject) -> None:
        name = function.get("name")
        call = self._legacy
        if call is None:
            if not isinstance(name, str) or not name:
                return
            call = self._legacy = self._begin(None, "")
            call.is_legacy = True
            call.hints["_legacy"] = True
            call.name = name
        self._write(call, _text_of(function.get("arguments")))

    def finish(self) -> None:
        """Nothing more comes: begin what still waits, and keep what was said about each call."""
        for call in self._calls:
            self._open(call)
            if call.place is None:
                continue
            if "_custom" in call.hints:
                rest = dump_text(whole_text(call.half))[1:-1] if call.half else ""
                self._builder.text(call.place, f'{rest}"}}')
            if call.hints:
                self._builder.keep(call.place, call_private(call.hints))

    def incomplete_places(self) -> list[int]:
        """Calls whose name never came: nobody can run them."""
        return [call.place for call in self._calls if not call.name and call.place is not None]

    def text_of(self, place: int) -> str:
        return self._builder.text_of(place)

    @property
    def places(self) -> list[int]:
        return [call.place for call in self._calls if call.place is not None]

    def _find(self, index: int | None, call_id: str, name: str) -> _Call | None:
        known = self._by_id.get(call_id) if call_id else None
        if known is not None:
            is_another = name and index is not None and index != known.index and index not in self._by_index
            return None if is_another else known
        current = self._by_index.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        if current is None:
            return None
        if call_id:
            if current.wire_id or name:
                return None
            return current
        if name and current.name and not self._is_more_of(current, name):
            return None
        return current

    def _is_more_of(self, call: _Call, name: str) -> bool:
        """Whether a name belongs to a call that has one: its second half, or the same one again."""
        if self._begins_declared(call.name + name):
            return True
        if name != call.name:
            return False
        return not self._is_whole(call)

    def _is_whole(self, call: _Call) -> bool:
        """Whether the arguments are an object already. Nothing is looked at twice, as names may come with each piece."""
        pieces = [] if call.place is None else self._builder.pieces_of(call.place)
        fresh = pieces[call.checked :]
        call.checked = len(pieces)
        if not call.objects.feed("".join(fresh).encode("utf-8", "replace")):
            return False
        return object_arguments("".join(pieces)) is not None

    def _begins_declared(self, name: str) -> bool:
        return any(declared.startswith(name) for declared in self._names)

    def _begin(self, index: int | None, call_id: str) -> _Call:
        call = _Call(len(self._calls), index, call_id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if call_id:
            self._by_id[call_id] = call
        return call

    def _describe(self, call: _Call, entry: JsonObject, name: str) -> None:
        kind = entry.get("type")
        if kind == "custom" or (isinstance(entry.get("custom"), dict) and "function" not in entry):
            call.hints["_custom"] = True
        if kind is None and not call.name:
            call.hints["_untyped_reply"] = True
        elif kind is not None:
            call.hints.pop("_untyped_reply", None)
        call.hints.update(unknown_values(entry, _KNOWN))
        if not name:
            return
        if not call.name:
            call.name = name
        elif self._begins_declared(call.name + name):
            call.name += name
            if call.place is not None:
                self._builder.name(call.place, original_name(call.name, self._names))
        may_grow = call.name not in self._names and self._begins_declared(call.name)
        if not may_grow:
            self._open(call)

    def _open(self, call: _Call) -> None:
        if call.place is not None:
            return
        call_id = call.wire_id
        if not call_id:
            suffix = "function_call" if call.is_legacy else f"tool_calls[{call.position}]"
            call_id = synthetic_id(self.seed, f"{self._path}.{suffix}")
            call.hints["_synthetic"] = True
        call.place = self._builder.open("call", call_id=call_id, name=original_name(call.name, self._names))
        if "_custom" in call.hints:
            self._builder.text(call.place, '{"input":"')
        for text in call.waiting:
            self._write(call, text)
        call.waiting = []

    def _write(self, call: _Call, text: str) -> None:
        if not text:
            return
        if call.place is None and call.name:
            self._open(call)
        if call.place is None:
            call.waiting.append(text)
        elif "_custom" in call.hints:
            self._write_input(call, text)
        else:
            self._builder.text(call.place, text)

    def _write_input(self, call: _Call, text: str) -> None:
        """Plain text as the inside of a JSON string."""
        text = call.half + text
        call.half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, call.half = text[:-1], text[-1]
        if text and call.place is not None:
            self._builder.text(call.place, dump_text(whole_text(text))[1:-1])


def _text_of(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dump_text(value)
