"""How to answer: output format, reasoning, sampling. Both ways; knows no items and no tools."""

from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.openai import EFFORTS, effort_of
from groundwire.codecs.wire.openai_strict import write_strict
from groundwire.codecs.wire.private import give_back, keep, note_foreign, own_members, unknown_members
from groundwire.codecs.wire.reading import as_object, optional_bool, optional_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import OutputFormat, ReasoningOptions, Sampling

_FORMAT_MEMBERS = frozenset({"type", "name", "description", "schema", "strict"})
_EFFORT = frozenset({"effort"})


def read_format(value: object) -> OutputFormat | None:
    """`text.format`; None for a type that nobody here knows, which then stays where it was."""
    path = "text.format"
    if value is None:
        return None
    wire = as_object(value, path)
    kind = wire.get("type")
    if kind == "text":
        return OutputFormat(type="text", private=keep(DIALECT, unknown_members(wire, _FORMAT_MEMBERS)))
    if kind == "json_object":
        return OutputFormat(type="json", private=keep(DIALECT, unknown_members(wire, _FORMAT_MEMBERS)))
    if kind != "json_schema":
        return None
    schema = wire.get("schema")
    if schema is None:
        raise WireError("is missing", path=f"{path}.schema")
    return OutputFormat(
        type="schema",
        schema=as_object(schema, f"{path}.schema"),
        name=optional_text(wire, "name", path),
        description=optional_text(wire, "description", path),
        strict=optional_bool(wire, "strict", path),
        private={DIALECT: unknown_members(wire, _FORMAT_MEMBERS)},
    )


def write_format(output: OutputFormat, losses: Losses) -> JsonObject:
    note_foreign(output.private, DIALECT, "output", losses)
    members = own_members(output.private, DIALECT)
    if output.type != "schema":
        return give_back({"type": "text" if output.type == "text" else "json_object"}, members)
    schema = output.schema or {}
    written: JsonObject = {"type": "json_schema", "name": output.name or "answer", "schema": schema}
    if output.name is None and DIALECT in output.private:
        del written["name"]
    if output.description is not None:
        written["description"] = output.description
    if output.strict and DIALECT not in output.private:
        written["schema"], written["strict"] = write_strict(schema, "output", losses)
    elif output.strict is not None:
        written["strict"] = output.strict
    return give_back(written, members)


def read_reasoning_options(wire: JsonObject) -> ReasoningOptions:
    """Effort and whether thoughts are to be told; how exactly they are told is this dialect's own."""
    effort = optional_text(wire, "effort", "reasoning")
    members = unknown_members(wire, _EFFORT)
    told = wire.get("summary") or wire.get("generate_summary")
    if effort is not None and effort != effort.lower():
        members = {**members, "effort": effort}
    return ReasoningOptions(
        effort=None if effort is None else effort.lower(),
        summary=None if told is None else bool(told),
        private={DIALECT: members},
    )


def write_reasoning_options(options: ReasoningOptions, losses: Losses) -> JsonObject:
    note_foreign(options.private, DIALECT, "reasoning", losses)
    written: JsonObject = {}
    if DIALECT in options.private:
        if options.effort is not None:
            written["effort"] = options.effort
        return give_back(written, own_members(options.private, DIALECT))
    if options.effort in EFFORTS:
        written["effort"] = options.effort
    elif options.effort is not None:
        losses.add("option_dropped", "reasoning.effort", f"The effort {options.effort!r} is unknown here.")
    elif options.budget is not None:
        written["effort"] = effort_of(options.budget)
        message = f"A budget of {options.budget} tokens is sent as the effort {written['effort']}."
        losses.add("option_adjusted", "reasoning.budget", message)
    if options.effort is not None and options.budget is not None:
        losses.add("option_dropped", "reasoning.budget", "Only the effort can be sent here.")
    if options.summary:
        written["summary"] = "auto"
    return written


def write_sampling(sampling: Sampling, body: JsonObject, losses: Losses) -> None:
    """What this API has; it knows no stop strings, seeds, penalties or several answers."""
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    for name in ("top_k", "seed", "presence_penalty", "frequency_penalty"):
        if getattr(sampling, name) is not None:
            losses.add("option_dropped", f"sampling.{name}", f"{name} has no equal here.")
    if sampling.stop:
        losses.add("option_dropped", "sampling.stop", "Stop strings have no equal here.")
    if sampling.count is not None and sampling.count != 1:
        losses.add(
            "option_dropped",
            "sampling.count",
            "Only one answer can be asked for here, not several (n, candidateCount).",
        )
