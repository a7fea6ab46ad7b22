"""How to answer: sampling, lengths, output format, effort. Everything of a request besides the conversation and tools."""

from typing import Any

from groundwire.codecs.openai_chat.profile import DIALECT, Profile
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.openai import EFFORTS, effort_of
from groundwire.codecs.wire.openai_strict import write_strict
from groundwire.codecs.wire.private import NOTHING, note_foreign, own_members, unknown_values, visible
from groundwire.codecs.wire.reading import (
    as_list,
    as_text,
    optional_bool,
    optional_int,
    optional_number,
    optional_object,
    optional_text,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Private
from groundwire.contracts.requests import ModelRequest, OutputFormat, ReasoningOptions, Sampling

_NUMBERS = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty")
_SAMPLING = frozenset({*_NUMBERS, "seed", "stop", "n"})
_PLAIN = Sampling()
_FORMAT = frozenset({"type", "json_schema"})
_SCHEMA = frozenset({"name", "schema", "description", "strict"})
_DEFAULT_STREAM: JsonObject = {"include_usage": True}


def read_sampling(body: JsonObject, extras: JsonObject) -> Sampling:
    if body.keys().isdisjoint(_SAMPLING):
        return _PLAIN
    found: dict[str, Any] = {name: optional_number(body, name) for name in _NUMBERS if name in body}
    if "seed" in body:
        found["seed"] = optional_int(body, "seed")
    if "n" in body:
        found["count"] = optional_int(body, "n")
    if body.get("top_k") is not None:
        extras["_top_k"] = True
    if body.get("stop") is not None:
        found["stop"] = _read_stop(body["stop"], extras)
    return Sampling(**found)


def _read_stop(stop: JsonValue, extras: JsonObject) -> tuple[str, ...]:
    if isinstance(stop, str):
        extras["_stop_text"] = True
        return (stop,)
    if stop == []:
        extras["stop"] = stop
    return tuple(as_text(text, f"stop[{place}]") for place, text in enumerate(as_list(stop, "stop")))


def write_sampling(sampling: Sampling, body: JsonObject, kept: JsonObject, profile: Profile, losses: Losses) -> None:
    if sampling is _PLAIN:
        return
    for name in ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"):
        value = getattr(sampling, name)
        if value is not None:
            body[name] = value
    if sampling.top_k is not None:
        if profile.takes_top_k or "_top_k" in kept:
            top_k = sampling.top_k  # servers refuse 20.0
            body["top_k"] = int(top_k) if float(top_k).is_integer() else top_k
        else:
            losses.add("option_dropped", "sampling.top_k", "The dialect has no top_k.")
    if sampling.stop:
        body["stop"] = sampling.stop[0] if "_stop_text" in kept else list(sampling.stop)
    if sampling.count is not None:
        body["n"] = sampling.count


def read_limit(body: JsonObject, extras: JsonObject) -> int | None:
    return keep_limit(optional_int(body, "max_completion_tokens"), optional_int(body, "max_tokens"), extras)


def keep_limit(newer: int | None, older: int | None, extras: JsonObject) -> int | None:
    """The limit under either of its names, with a note on which it was."""
    if newer is not None:
        if older is not None:
            extras["max_tokens"] = older
        return newer
    if older is not None:
        extras["_max_tokens"] = True
    return older


def write_limit(limit: int | None, body: JsonObject, kept: JsonObject, profile: Profile) -> None:
    if limit is not None:
        is_old = "_max_tokens" in kept and profile.takes_max_tokens
        body["max_tokens" if is_old else profile.max_tokens_field] = limit


def read_format(body: JsonObject, extras: JsonObject) -> OutputFormat | None:
    form = optional_object(body, "response_format")
    if form is None:
        return None
    kind = form.get("type")
    outer = unknown_values(form, _FORMAT)
    if kind in ("text", "json_object"):
        private: Private = {DIALECT: {"_outer": outer}} if outer else {}
        return OutputFormat(type="text" if kind == "text" else "json", private=private)
    described = optional_object(form, "json_schema", "response_format")
    if kind != "json_schema" or described is None:
        extras["response_format"] = form
        return None
    where = "response_format.json_schema"
    hints: JsonObject = dict(unknown_values(described, _SCHEMA))
    if outer:
        hints["_outer"] = outer
    return OutputFormat(
        type="schema",
        schema=optional_object(described, "schema", where),
        name=optional_text(described, "name", where),
        description=optional_text(described, "description", where),
        strict=optional_bool(described, "strict", where),
        private={DIALECT: {**hints, "_own": True}},
    )


def write_format(form: OutputFormat, losses: Losses) -> JsonObject:
    note_foreign(form.private, DIALECT, "output", losses)
    hints = own_members(form.private, DIALECT)
    outer = hints.get("_outer")
    outer = outer if isinstance(outer, dict) else NOTHING
    if form.type != "schema":
        return {"type": "text" if form.type == "text" else "json_object", **outer}
    described: JsonObject = {}
    if form.name is not None or "_own" not in hints:
        described["name"] = form.name or "answer"
    if form.description is not None:
        described["description"] = form.description
    if form.schema is not None:
        schema = form.schema
        if "_own" not in hints:
            converted = to_openai(schema)
            losses.add_schema("output.schema", converted.warnings)
            schema = converted.schema
        described["schema"] = schema
    if form.strict and "_own" not in hints and isinstance(described.get("schema"), dict):
        described["schema"], described["strict"] = write_strict(described["schema"], "output", losses)  # type: ignore[arg-type]
    elif form.strict is not None:
        described["strict"] = form.strict
    return {"type": "json_schema", "json_schema": {**described, **visible(hints)}, **outer}


def read_reasoning(body: JsonObject) -> ReasoningOptions | None:
    effort = optional_text(body, "reasoning_effort")
    if effort is None:
        return None
    return ReasoningOptions(effort=effort.lower(), private={} if effort in EFFORTS else {DIALECT: {"_effort": effort}})


def write_reasoning(request: ModelRequest, body: JsonObject, profile: Profile, losses: Losses) -> None:
    options = request.reasoning
    effort: object = None
    if options is not None:
        note_foreign(options.private, DIALECT, "reasoning", losses)
        effort = own_members(options.private, DIALECT).get("_effort") or options.effort
        if isinstance(effort, str) and effort not in EFFORTS and DIALECT not in options.private:
            losses.add("option_dropped", "reasoning.effort", f"The effort {effort!r} is unknown here.")
            effort = None
        if effort is None and options.budget is not None:
            effort = effort_of(options.budget)
            losses.add("option_adjusted", "reasoning.budget", f"{options.budget} tokens of thought became {effort!r}.")
        elif options.budget is not None:
            losses.add("option_dropped", "reasoning.budget", "The dialect has no budget of thought.")
        if options.summary is not None:
            losses.add("option_dropped", "reasoning.summary", "The dialect tells no thoughts on request.")
    wanted = profile.effort_with_tools
    if wanted is not None and request.tools and effort != wanted:
        losses.add("option_adjusted", "reasoning.effort", f"With tools the model takes {wanted!r} only.")
        effort = wanted
    if isinstance(effort, str):
        body["reasoning_effort"] = effort


def read_stream(body: JsonObject, extras: JsonObject) -> bool:
    return keep_stream(optional_bool(body, "stream"), optional_object(body, "stream_options"), extras)


def keep_stream(stream: bool | None, options: JsonObject | None, extras: JsonObject) -> bool:  # noqa: FBT001 - as read
    """Whether to stream. A stream that reports its usage is the shape that needs no note."""
    if stream is None and options is None:
        return False
    if stream is False:
        extras["_stream"] = True
    if options is not None and not (stream and options == _DEFAULT_STREAM):
        extras["stream_options"] = options
    elif stream and options is None:
        extras["_no_usage"] = True
    return bool(stream)


def write_stream(request: ModelRequest, body: JsonObject, kept: JsonObject, profile: Profile) -> None:
    if request.stream:
        body["stream"] = True
        if profile.stream_usage and "stream_options" not in kept and "_no_usage" not in kept:
            body["stream_options"] = _DEFAULT_STREAM
    elif "_stream" in kept:
        body["stream"] = False


def wants_usage(request: ModelRequest | None) -> bool:
    """Whether the client of a stream asked for its usage."""
    kept = NOTHING if request is None else own_members(request.extras, DIALECT)
    options = kept.get("stream_options", _DEFAULT_STREAM)
    return "_no_usage" not in kept and isinstance(options, dict) and options.get("include_usage") is True
