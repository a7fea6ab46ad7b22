"""Items as Gemini's `contents`, in the order that it insists on.

Calls come right after a user's or a tool's turn; all results of a step stand in one content of their own, as many as
there were calls and in the order of the calls; the conversation begins with the user.
"""

from collections.abc import Iterable
from typing import Any

from groundwire.codecs.gemini.function_responses import write_response
from groundwire.codecs.gemini.parts import is_unnamed, write_call, write_native, write_part, write_reasoning
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.wire.ids import GEMINI_IDS, derived_id
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.pairing import BEGINNING
from groundwire.codecs.wire.private import note_foreign, own_members, take_own, visible
from groundwire.codecs.wire.results import arguments_fragment, object_arguments, object_result, result_fragment
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, ResultItem, TextPart

SKIP_SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""Base64 of `skip_thought_signature_validator`, which Google documents for calls that its models did not make."""

Wire = dict[str, Any]

_SYSTEM_ROLES = ("system", "developer")


class ContentWriter:
    """Walks paired items once and collects `contents`."""

    __slots__ = (
        "_arguments_of", "_asked", "_calls", "_losses", "_media", "_names", "_places", "_profile", "_response_of",
        "_results", "_results_role", "_spoken", "contents",
    )  # fmt: skip

    def __init__(self, names: NameTable, losses: Losses, profile: Profile, *, fragments: bool = False) -> None:
        self.contents: list[Wire] = []
        self._names = names
        self._losses = losses
        self._profile = profile
        self._spoken: list[Wire] = []
        self._asked: dict[str, list[tuple[int, str | None, str]]] = {}
        self._calls = 0
        self._results: list[tuple[int, Wire]] = []
        self._results_role: Any = "user"
        self._media: list[Wire] = []
        self._arguments_of = arguments_fragment if fragments else object_arguments
        self._response_of = result_fragment if fragments else object_result
        self._places: dict[int, int] = {}
        """Where in the request the calls stand that were written, by the identity of their parts."""

    def write(self, items: Iterable[tuple[int, Item]]) -> list[Wire]:
        """Each item comes with its place in the request, for the paths of losses."""
        for place, item in items:
            kind = type(item)
            if kind is ResultItem:
                if self._spoken:
                    self._end_turn()
                self._write_result(item, place)  # type: ignore[arg-type]
                continue
            if self._results:
                self._end_results()
            if kind is Message:
                self._write_message(item, place)  # type: ignore[arg-type]
                continue
            if item.split and self._spoken:
                self._end_turn()
            if kind is CallItem:
                self._write_call(item, place)  # type: ignore[arg-type]
            else:
                self._write_spoken(item, place)
        if self._spoken:
            self._end_turn()
        if self._results:
            self._end_results()
        self._begin_with_user()
        if self._profile.signatures == "required":
            self._sign_steps()
        return self.contents

    def _write_message(self, item: Message, place: int) -> None:
        is_models = item.role == "assistant"
        if self._spoken and (item.split or not is_models):
            self._end_turn()
        only = item.parts[0] if len(item.parts) == 1 else None
        if type(only) is TextPart and only.text and not (item.private or only.private or only.citations):
            # One plain text, as nearly all messages are.
            if is_models:
                self._spoken.append({"text": only.text})
                return
            if item.role == "user":
                self.contents.append({"role": "user", "parts": [{"text": only.text}]})
                return
        if is_models:
            self._write_words(item, f"items[{place}]")
        else:
            self._write_user(item, place)

    def _write_user(self, item: Message, place: int) -> None:
        parts = item.parts
        path = f"items[{place}]"
        found = [write_part(part, self._losses, f"{path}.parts[{index}]") for index, part in enumerate(parts)]
        written = [part for part in found if part is not None]
        if item.role in _SYSTEM_ROLES:
            self._losses.add(
                "role_changed", path, "Only the beginning can be a system prompt; this became a user turn."
            )
            written = _as_system(written)
        elif item.role != "user":
            self._losses.add("role_changed", path, f"Gemini has no role {item.role!r}; this became a user turn.")
        content: Wire = {"role": "user", "parts": written or [{"text": ""}]}
        if item.private:
            members = take_own(item.private, DIALECT, path, self._losses)
            content.update(visible(members))
            if "_role" in members and item.role == "user":
                content["role"] = members["_role"]
            if content["role"] is None:
                del content["role"]
        self.contents.append(content)

    def _write_spoken(self, item: Item, place: int) -> None:
        path = f"items[{place}]"
        written: Wire | None = None
        if isinstance(item, ReasoningItem):
            written = write_reasoning(item, self._losses, path)
        elif isinstance(item, NativeItem):
            written = write_native(item, self._losses, path)
        if written is not None:
            self._spoken.append(written)

    def _write_words(self, item: Message, path: str) -> None:
        if item.private:
            note_foreign(item.private, DIALECT, path, self._losses)
        for index, part in enumerate(item.parts):
            if type(part) is TextPart and not part.private and not part.citations:
                if part.text:
                    self._spoken.append({"text": part.text})
                else:
                    self._losses.add("empty_text_dropped", path, "An empty text of the model was left out.")
                continue
            written = write_part(part, self._losses, f"{path}.parts[{index}]")
            if written is not None:
                self._spoken.append(written)

    def _write_call(self, item: CallItem, place: int) -> None:
        call = item.call
        call_id: str | None = call.call_id
        name = self._names.wire(call.name)
        waiting = self._asked.get(call.call_id)
        if item.private and is_unnamed(item):
            call_id = None
        elif waiting is not None or not call_id:
            call_id = derived_id(f"{call.call_id}#{self._calls}", GEMINI_IDS)
            self._losses.add("call_id_rewritten", f"items[{place}]", f"{call.call_id!r} is sent as {call_id!r}.")
        if waiting is None:
            self._asked[call.call_id] = [(self._calls, call_id, name)]
        else:
            waiting.append((self._calls, call_id, name))
        self._calls += 1
        if not item.private and call_id is not None:
            arguments = call.arguments if call.arguments is not None else self._arguments_of(call.raw)
            if arguments is not None:
                self._spoken.append({"functionCall": {"name": name, "id": call_id, "args": arguments}})
                self._places[id(self._spoken[-1])] = place
                return
        self._spoken.append(write_call(item, call_id, name, self._losses, f"items[{place}]"))
        self._places[id(self._spoken[-1])] = place

    def _write_result(self, item: ResultItem, place: int) -> None:
        waiting = self._asked.get(item.call_id)
        if waiting is None:  # only without `paired` before
            order, wire_id, name = len(self._results), item.call_id, self._names.wire(item.name)
        else:
            order, wire_id, name = waiting.pop(0) if len(waiting) > 1 else waiting[0]  # type: ignore[assignment]
        parts = item.parts
        if not item.private and len(parts) == 1 and type(parts[0]) is TextPart and wire_id is not None:
            response = self._response_of(parts[0].text, failed=item.failed)
            written: Wire = {"functionResponse": {"name": name, "id": wire_id, "response": response}}
        else:
            if not self._results and item.private:
                self._results_role = own_members(item.private, DIALECT).get("_role", "user")
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
        self._calls = 0

    def _end_turn(self) -> None:
        before = self.contents[-1] if self.contents else None
        if self._asked and before is not None and before.get("role") == "model":
            # A turn that calls may not follow another turn of the model, so all of them become one.
            self.contents.pop()
            while self.contents and self.contents[-1].get("role") == "model":
                before = {**before, "parts": self.contents.pop()["parts"] + before["parts"]}
            self.contents.append({**before, "parts": before["parts"] + self._spoken})
        else:
            self.contents.append({"role": "model", "parts": self._spoken})
        self._spoken = []

    def _begin_with_user(self) -> None:
        if not self.contents or self.contents[0].get("role") == "model":
            self._losses.add("placeholder_added", "items", "The conversation has to begin with the user.")
            self.contents.insert(0, {"role": "user", "parts": [{"text": BEGINNING}]})

    def _sign_steps(self) -> None:
        """The first call of each step since the user last spoke needs a signature, its own or the placeholder."""
        for place in range(len(self.contents) - 1, -1, -1):
            content = self.contents[place]
            if content.get("role") != "model":
                for part in content["parts"]:
                    if "text" in part:
                        return
                continue
            for part in content["parts"]:
                if "functionCall" in part:
                    if "thoughtSignature" not in part:
                        part["thoughtSignature"] = SKIP_SIGNATURE
                        place_of_call = self._places.get(id(part))
                        path = "items" if place_of_call is None else f"items[{place_of_call}]"
                        self._losses.add("signature_added", path, "The first call of this step had no signature.")
                    break


def _order(result: tuple[int, Wire]) -> int:
    return result[0]


def _as_system(parts: list[Wire]) -> list[Wire]:
    """Marked as what they were, in one text if they are one text."""
    if len(parts) == 1 and "text" in parts[0]:
        return [{**parts[0], "text": f"<system>{parts[0]['text']}</system>"}]
    return [{"text": "<system>"}, *parts, {"text": "</system>"}]
