"""The response that nearly all are, recognised while it is parsed: one candidate of texts and calls that stopped.

And likewise the events of nearly all streams. They are described by types, so that the checks are msgspec's and no objects are made in between. These types say nothing
about what Gemini may send: what they do not take is read by the functions that know it all.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from groundwire.codecs.gemini.finishes import read_usage
from groundwire.codecs.gemini.parts import call_item
from groundwire.codecs.gemini.turns import id_prefix
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Item, Message, Part, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply


class UsualCall(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    args: JsonObject
    id: str = ""


class UsualPart(Struct, forbid_unknown_fields=True, gc=False):
    text: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    functionCall: UsualCall | UnsetType = UNSET  # noqa: N815 - as on the wire
    thoughtSignature: str | UnsetType = UNSET  # noqa: N815 - as on the wire


class UsualContent(Struct, forbid_unknown_fields=True, gc=False):
    parts: Annotated[list[UsualPart], Meta(min_length=1)]
    role: Literal["model"]


class UsualCandidate(Struct, forbid_unknown_fields=True, gc=False):
    content: UsualContent
    finishReason: Literal["STOP"]  # noqa: N815 - as on the wire
    index: Literal[0]


class UsualResponse(Struct, forbid_unknown_fields=True, gc=False):
    candidates: Annotated[list[UsualCandidate], Meta(min_length=1, max_length=1)]
    usageMetadata: dict[str, Any] | None = None  # noqa: N815 - as on the wire
    modelVersion: str = ""  # noqa: N815 - as on the wire
    responseId: str = ""  # noqa: N815 - as on the wire


class UsualText(Struct, forbid_unknown_fields=True, gc=False):
    text: Annotated[str, Meta(min_length=1)]


class UsualWords(Struct, forbid_unknown_fields=True, gc=False):
    parts: Annotated[list[UsualText], Meta(min_length=1)]
    role: Literal["model"]


class UsualPiece(Struct, forbid_unknown_fields=True, gc=False):
    content: UsualWords
    index: Literal[0]


class UsualEvent(Struct, forbid_unknown_fields=True, gc=False):
    """One event of a stream that says nothing but the next words of its one candidate."""

    candidates: Annotated[list[UsualPiece], Meta(min_length=1, max_length=1)]
    usageMetadata: dict[str, Any] | None = None  # noqa: N815 - as on the wire
    modelVersion: str = ""  # noqa: N815 - as on the wire
    responseId: str = ""  # noqa: N815 - as on the wire


_decode = msgspec.json.Decoder(UsualResponse).decode
_decode_event = msgspec.json.Decoder(UsualEvent).decode

_SAID = Finish(reason=FinishReason.END, raw="STOP")
_ASKED = Finish(reason=FinishReason.TOOL_CALLS, raw="STOP")


def read_usual(body: bytes, names: Mapping[str, str]) -> Reply | None:
    """The reply of such a response; None for any other body, good or bad.

    And where a text is signed, two calls have one id, or a call has none and the response none to make it of.
    """
    try:
        wire = _decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    reply_id = wire.responseId
    items: list[Item] = []
    spoken: list[Part] = []
    ids: list[str] = []
    for part in wire.candidates[0].content.parts:
        text, call, signature = part.text, part.functionCall, part.thoughtSignature
        if call is UNSET:
            if text is UNSET or signature is not UNSET:
                return None
            spoken.append(TextPart(text=text))
            continue
        if text is not UNSET:
            return None
        if spoken:
            items.append(Message(role="assistant", parts=tuple(spoken)))
            spoken = []
        members: JsonObject = {} if signature is UNSET else {"thoughtSignature": signature}
        call_id = call.id
        if not call_id:
            if not reply_id:
                return None
            members["_synthetic"] = True
            call_id = f"{id_prefix(reply_id, 0)}_{len(ids)}"
        ids.append(call_id)
        items.append(call_item(call.name, call_id, call.args, members, names))
    if len(ids) > 1 and len(set(ids)) < len(ids):
        return None
    if spoken:
        items.append(Message(role="assistant", parts=tuple(spoken)))
    return Reply(
        reply_id=reply_id,
        model=wire.modelVersion,
        items=tuple(items),
        finish=_ASKED if ids else _SAID,
        usage=read_usage(wire.usageMetadata),
    )


def read_usual_event(frame: bytes) -> UsualEvent | None:
    """The next words of a stream; None for any other event."""
    try:
        return _decode_event(frame)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
