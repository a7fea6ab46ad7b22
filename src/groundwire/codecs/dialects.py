"""The four dialects of model APIs by name, and translation between any two of them.

Sits above the codecs, which do not know each other, and below everybody who speaks more than one dialect.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs import anthropic_messages, gemini, openai_chat, openai_responses
from groundwire.codecs.caching import ToolCache
from groundwire.codecs.wire.json import dump, read_object, read_value
from groundwire.codecs.wire.private import visible
from groundwire.codecs.wire.recognition import answered_by, looks_like, streamed_by
from groundwire.codecs.wire.warnings import Encoded
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Private
from groundwire.contracts.replies import (
    FinishReason,
    Reply,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyStarted,
    WireWarning,
)
from groundwire.contracts.requests import Dialect, ModelRequest

Target: TypeAlias = Dialect | Literal["canonical"]
Kind: TypeAlias = Literal["request", "response", "stream"]
Profile: TypeAlias = openai_chat.Profile | openai_responses.Profile | anthropic_messages.Profile | gemini.Profile
_OwnProfile_contra = TypeVar("_OwnProfile_contra", contravariant=True)

_CUT = Failure(kind=FailureKind.BAD_RESPONSE, message="The stream was cut before its end.", status=0)


class ReplyDecoder(Protocol):
    def feed(self, data: bytes) -> list[ReplyPart]: ...

    def finish(self) -> list[ReplyPart]: ...


class ReplyEncoder(Protocol):
    @property
    def warnings(self) -> tuple[WireWarning, ...]: ...

    def feed(self, part: ReplyPart) -> bytes: ...

    def finish(self) -> bytes: ...


class Codec(Protocol[_OwnProfile_contra]):
    """What every dialect's package offers; both halves of a gateway need no more.

    Tools that a cache wrote stand in the body ready for `dump`: nothing else can read them.
    """

    DIALECT: str

    @property
    def Profile(self) -> type[Struct]: ...  # noqa: N802 - a class

    def decode_request(
        self, body: bytes | JsonObject, *, model: str = "", stream: bool = False, cache: ToolCache | None = None
    ) -> ModelRequest: ...

    def encode_request(
        self,
        request: ModelRequest,
        *,
        profile: _OwnProfile_contra = ...,
        cache: ToolCache | None = None,
        fragments: bool = False,
    ) -> Encoded:
        """With `fragments`, for a caller who only writes the body, objects that are known as text stay text in it."""
        ...

    def decode_response(self, body: bytes | JsonObject, *, names: Mapping[str, str] | None = None) -> Reply: ...

    def encode_response(
        self, reply: Reply, *, request: ModelRequest | None = None, created: int | None = None
    ) -> Encoded: ...

    def decode_error(self, status: int, body: bytes, headers: Mapping[str, str]) -> Failure: ...

    def encode_error(self, failure: Failure) -> tuple[int, JsonObject]: ...

    def failure_in(self, body: bytes | JsonObject) -> Failure | None: ...

    def StreamDecoder(self, *, names: Mapping[str, str] | None = None) -> ReplyDecoder: ...  # noqa: N802 - a class

    def StreamEncoder(  # noqa: N802 - a class
        self, *, request: ModelRequest | None = None, created: int | None = None
    ) -> ReplyEncoder: ...


def _with_own_profile(codec: Codec[_OwnProfile_contra]) -> Codec[Profile]:
    """Callers bring a codec the profile of its own dialect; that it is this one, no type can say."""
    return cast("Codec[Profile]", codec)


_CODECS: dict[Dialect, Codec[Profile]] = {
    "openai-chat": _with_own_profile(openai_chat),
    "openai-responses": _with_own_profile(openai_responses),
    "anthropic": _with_own_profile(anthropic_messages),
    "gemini": _with_own_profile(gemini),
}


def codec_of(dialect: Dialect) -> Codec[Profile]:
    return _CODECS[dialect]


class Translation(Struct, frozen=True, kw_only=True):
    """`failure` is what a response or a stream reports instead of an answer, or that a stream was cut.

    `body` is then the error in the target's words, or what came of the stream.
    """

    body: bytes
    warnings: tuple[WireWarning, ...] = ()
    failure: Failure | None = None


class Guess(Struct, frozen=True):
    """What bytes seem to be."""

    kind: Kind
    dialect: Dialect | None = None

    def __str__(self) -> str:
        return f"a {self.kind}" if self.dialect is None else f"a {self.kind} of {self.dialect}"


def translate(
    data: bytes,
    source: Dialect,
    target: Target,
    *,
    kind: Kind = "request",
    model: str = "",
    created: int | None = None,
) -> Translation:
    """The bytes of one dialect in another; `canonical` shows what was understood.

    `model` is the model's name where the bytes do not say it or another is meant, `created` the time of an answer that
    does not say when it was made, for dialects that want one. Raises WireError for bytes that are not of the source dialect, and NotExpressible for what the target cannot say.
    """
    try:
        if kind == "request":
            return _translate_request(data, source, target, model)
        if kind == "response":
            return _translate_response(data, source, target, model, created)
        return _translate_stream(data, source, target, model, created)
    except WireError as error:
        found = guess(data)
        if not error.hint and found is not None and (found.kind != kind or found.dialect not in (source, None)):
            error.hint = f"this looks like {found}"
        raise


def guess(data: bytes) -> Guess | None:
    """What the bytes look like, for those who named the wrong dialect or kind."""
    if data.lstrip()[:5] in (b"data:", b"event"):
        return Guess("stream", streamed_by(data))
    try:
        body = read_value(data)
    except WireError:
        return None
    if isinstance(body, list):
        owner = answered_by(body[0]) if body and isinstance(body[0], dict) else None
        return Guess("stream", owner) if owner == "gemini" else None
    if not isinstance(body, dict):
        return None
    if (owner := answered_by(body)) is not None:
        return Guess("response", owner)
    asked = looks_like(body)
    return None if asked is None else Guess("request", asked)


def _translate_request(data: bytes, source: Dialect, target: Target, model: str) -> Translation:
    request = codec_of(source).decode_request(data, model=model)
    if model:
        request = replace(request, model=model)
    if target == "canonical":
        return Translation(body=show(request))
    if not request.model and target != "gemini":
        raise WireError("is missing", path="model", hint="the body does not name the model, so the caller must")
    if target == "gemini":
        encoded = gemini.encode_request(request, profile=_gemini_profile(source, request.model))
    else:
        encoded = codec_of(target).encode_request(request)
    return Translation(body=dump(encoded.body), warnings=encoded.warnings)


def _gemini_profile(source: Dialect, model: str) -> gemini.Profile:
    # What comes from Gemini goes back as it was; calls from elsewhere need the signatures that the model asks for.
    profile = gemini.profile_for(model)
    return replace(profile, signatures="optional") if source == "gemini" else profile


def _translate_response(data: bytes, source: Dialect, target: Target, model: str, created: int | None) -> Translation:
    body = read_object(data)
    failure = codec_of(source).failure_in(body)
    if failure is not None:
        written = show(failure) if target == "canonical" else dump(codec_of(target).encode_error(failure)[1])
        return Translation(body=written, failure=failure)
    reply = codec_of(source).decode_response(body)
    if model:
        reply = replace(reply, model=model)
    if target == "canonical":
        return Translation(body=show(reply))
    encoded = codec_of(target).encode_response(reply, created=created)
    return Translation(body=dump(encoded.body), warnings=encoded.warnings)


def _translate_stream(data: bytes, source: Dialect, target: Target, model: str, created: int | None) -> Translation:
    decoder = codec_of(source).StreamDecoder()
    parts = [_renamed(part, model) for part in decoder.feed(data) + decoder.finish()]
    last = parts[-1] if parts else None
    if isinstance(last, ReplyFailed) and last.failure.kind == FailureKind.BAD_RESPONSE:
        raise WireError(last.failure.message)
    failure = last.failure if isinstance(last, ReplyFailed) else None
    if isinstance(last, ReplyEnded) and last.reply.finish.reason == FinishReason.INCOMPLETE:
        failure = _CUT
    if last is None or (failure is _CUT and isinstance(last, ReplyEnded) and last.reply.is_empty):
        raise WireError("The stream has no events of this dialect.")
    if target != "canonical":
        encoder = codec_of(target).StreamEncoder(created=created)
        body = b"".join([encoder.feed(part) for part in parts]) + encoder.finish()
        return Translation(body=body, warnings=encoder.warnings, failure=failure)
    if isinstance(last, ReplyFailed):
        return Translation(body=show(last.failure), failure=failure)
    if not isinstance(last, ReplyEnded):
        raise WireError("The stream has no end.")
    return Translation(body=show(last.reply), failure=failure)


def _renamed(part: ReplyPart, model: str) -> ReplyPart:
    if model and isinstance(part, ReplyStarted):
        return replace(part, model=model)
    if model and isinstance(part, ReplyEnded):
        return ReplyEnded(reply=replace(part.reply, model=model))
    return part


def show(value: ModelRequest | Reply | Failure) -> bytes:
    """A canonical value as JSON that is the same for the same value: members in their order, defaults left out.

    Without the notes that codecs keep on the shape that something had on the wire.
    """
    return msgspec.json.format(msgspec.json.encode(_without_notes(value), order="deterministic"), indent=2)


def _without_notes(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_without_notes, value))
    if not isinstance(value, Struct):
        return value
    members = {name: getattr(value, name) for name in value.__struct_fields__}
    return replace(
        value,
        **{
            name: _public(member) if name in ("private", "extras") else _without_notes(member)
            for name, member in members.items()
        },
    )


def _public(private: Private) -> Private:
    return {dialect: shown for dialect, members in private.items() if (shown := visible(members))}
