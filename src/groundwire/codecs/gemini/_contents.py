"""Items as Gemini's `contents`, in the order that it insists on.

Calls come right after a user's or a tool's turn; all results of a step stand in one content of their own, as many as
there were calls and in the order of the calls; the conversation begins with the user.
"""

from collections.abc import Iterable
from typing import Any

from groundwire.codecs._ids import GEMINI_IDS, IdTable
from groundwire.codecs._names import NameTable
from groundwire.codecs._warnings import Losses
from groundwire.codecs.gemini._casing import DIALECT, own_members, sendable
from groundwire.codecs.gemini._function_responses import write_response
from groundwire.codecs.gemini._parts import is_unnamed, write_call, write_native, write_part, write_reasoning
from groundwire.codecs.gemini.profiles import Profile
from groundwire.contracts.messages import CallItem, Item, Message, ReasoningItem, ResultItem, TextPart

SKIP_SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""Base64 of `skip_thought_signature_validator`, which Google documents for calls that its models did not make."""

Wire = dict[str, Any]

_PLACEHOLDER = " "
_SYSTEM_ROLES = ("system", "developer")


class ContentWriter:
    """Walks paired items once and collects `contents`."""

    def __init__(self, names: NameTable, losses: Losses, profile: Profile) -> None:
        self.contents: list[Wire] = []
        self._names = names
        self._losses = losses
        self._profile = profile
        self._ids = IdTable(GEMINI_IDS, losses)
        self._spoken: list[Wire] = []
        self._asked: dict[str, tuple[int, str | None, str]] = {}
        self._results: list[tuple[int, Wire]] = []
        self._results_role: Any = "user"
        self._media: list[Wire] = []

    def write(self, items: Iterable[Item]) -> list[Wire]:
        for place, item in enumerate(items):
            kind = item.kind
            if kind == "result":
                self._end_turn()
                self._write_result(item, place)  # type: ignore[arg-type]
                continue
            if self._results:
                self._end_results()
            if kind == "message" and item.role != "assistant":  # type: ignore[union-attr]
                self._end_turn()
                self._write_user(item, place)  # type: ignore[arg-type]
                continue
            if item.split:
                self._end_turn()
            if kind == "call":
                self._write_call(item, place)  # type: ignore[arg-type]
            else:
                self._write_spoken(item, place)
        self._end_turn()
        if self._results:
            self._end_results()
        self._begin_with_user()
        if self._profile.signatures == "required":
            self._sign_steps()
        return self.contents

    def _write_user(self, item: Message, place: int) -> None:
        path = f"items[{place}]"
        parts = item.parts
        if len(parts) == 1 and type(parts[0]) is TextPart and not parts[0].private and not parts[0].citations:
            written: list[Wire] = [{"text": parts[0].text}]
        else:
            found = [write_part(part, self._losses, f"{path}.parts[{index}]") for index, part in enumerate(parts)]
            written = [part for part in found if part is not None]
        if item.role in _SYSTEM_ROLES:
            self._losses.add(
                "role_changed", path, "Only the beginning can be a system prompt; this became a user turn."
            )
            written = (
                [{"text": "<system>"}, *written, {"text": "</system>"}] if len(written) != 1 else _wrapped(written[0])
            )
        content: Wire = {"role": "user", "parts": written or [{"text": ""}]}
        if item.private:
            members = own_members(item.private, self._losses, path)
            role = members.get("_role", "user")
            content = {"parts": content["parts"], **sendable(members)}
            if role is not None:
                content["role"] = role
        elif item.role not in ("user", *_SYSTEM_ROLES):
            self._losses.add("role_changed", path, f"Gemini has no role {item.role!r}; this became a user turn.")
        self.contents.append(content)

    def _write_spoken(self, item: Item, place: int) -> None:
        path = f"items[{place}]"
        if isinstance(item, Message):
            if item.private:
                own_members(item.private, self._losses, path)
            for index, part in enumerate(item.parts):
                if type(part) is TextPart and not part.text and DIALECT not in part.private:
                    self._losses.add("empty_text_dropped", path, "An empty text of the model was left out.")
                    continue
                written = write_part(part, self._losses, f"{path}.parts[{index}]")
                if written is not None:
                    self._spoken.append(written)
        elif isinstance(item, ReasoningItem):
            thought = write_reasoning(item, self._losses, path)
            if thought is not None:
                self._spoken.append(thought)
        elif not isinstance(item, (CallItem, ResultItem)):
            native = write_native(item, self._losses, path)
            if native is not None:
                self._spoken.append(native)

    def _write_call(self, item: CallItem, place: int) -> None:
        path = f"items[{place}]"
        call = item.call
        wire_id = None if item.private and is_unnamed(item) else self._ids.call(call.call_id, path)
        name = self._names.wire(call.name, path)
        self._asked[call.call_id] = (len(self._asked), wire_id, name)
        self._spoken.append(write_call(item, wire_id, name, self._losses, path))

    def _write_result(self, item: ResultItem, place: int) -> None:
        order, wire_id, name = self._asked.get(item.call_id) or (0, item.call_id, self._names.wire(item.name))
        if not self._results and item.private:
            self._results_role = item.private.get(DIALECT, {}).get("_role", "user")
        media = None if self._profile.media_in_results else self._media
        written = write_response(item, wire_id, name, self._losses, f"items[{place}]", media=media)
        self._results.append((order, written))

    def _end_results(self) -> None:
        if len(self._results) > 1:
            self._results.sort(key=_order)
        content: Wire = {"role": self._results_role, "parts": [part for _, part in self._results]}
        if self._results_role is None:
            del content["role"]
        self.contents.append(content)
        if self._media:
            self.contents.append({"role": "user", "parts": list(self._media)})
            self._media = []
        self._results = []
        self._results_role = "user"
        self._asked = {}

    def _end_turn(self) -> None:
        if not self._spoken:
            return
        before = self.contents[-1] if self.contents else None
        if self._asked and before is not None and before.get("role") == "model":
            # A turn that calls may not follow another turn of the model, so the two become one.
            before["parts"] += self._spoken
        else:
            self.contents.append({"role": "model", "parts": self._spoken})
        self._spoken = []

    def _begin_with_user(self) -> None:
        if not self.contents or self.contents[0].get("role") == "model":
            self._losses.add("placeholder_added", "items", "The conversation has to begin with the user.")
            self.contents.insert(0, {"role": "user", "parts": [{"text": _PLACEHOLDER}]})

    def _sign_steps(self) -> None:
        """The first call of each step since the user last spoke needs a signature, its own or the placeholder."""
        for place in range(len(self.contents) - 1, -1, -1):
            content = self.contents[place]
            if content.get("role") != "model":
                if any("text" in part for part in content["parts"]):
                    return
                continue
            for part in content["parts"]:
                if "functionCall" in part:
                    if "thoughtSignature" not in part:
                        part["thoughtSignature"] = SKIP_SIGNATURE
                        self._losses.add(
                            "signature_added", f"contents[{place}]", "The first call of this step had no signature."
                        )
                    break


def _order(result: tuple[int, Wire]) -> int:
    return result[0]


def _wrapped(part: Wire) -> list[Wire]:
    if "text" not in part:
        return [{"text": "<system>"}, part, {"text": "</system>"}]
    return [{**part, "text": f"<system>{part['text']}</system>"}]
