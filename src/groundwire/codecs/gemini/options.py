"""`generationConfig` and `toolConfig`: how the model is to answer, both ways.

Members that have no canonical name stay under `extras["gemini"]`, in an object of the same name.
"""

from typing import Any

from msgspec import to_builtins

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.outputs import OUTPUT_MEMBERS, read_output, write_output
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.gemini.thinking import read_thinking, write_thinking
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import keep, take_own, unknown_values, visible
from groundwire.codecs.wire.reading import (
    as_list,
    as_object,
    as_text,
    optional_number,
    optional_proto_int,
    optional_text,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)

_SAMPLING = (
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("seed", "seed"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("stop", "stopSequences"),
    ("count", "candidateCount"),
)
_WIRE_NAMES = dict(_SAMPLING)
_GENERATION = frozenset({wire for _, wire in _SAMPLING}) | {"maxOutputTokens", "thinkingConfig"}
_CALLING = frozenset({"mode", "allowedFunctionNames"})
_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_NO_SAMPLING = Sampling()
_AUTO = ToolChoice()

Options = tuple[Sampling, int | None, OutputFormat | None, ReasoningOptions | None, JsonObject]


def read_generation(value: Any) -> Options:
    """Sampling, length, output format, reasoning, and the members that have no other place."""
    path = "generationConfig"
    wire = camel_keys(as_object(value, path))
    stop = wire.get("stopSequences")
    sampling = Sampling(
        temperature=optional_number(wire, "temperature", path),
        top_p=optional_number(wire, "topP", path),
        top_k=optional_number(wire, "topK", path),
        seed=optional_proto_int(wire, "seed", path),
        presence_penalty=optional_number(wire, "presencePenalty", path),
        frequency_penalty=optional_number(wire, "frequencyPenalty", path),
        stop=() if stop is None else _texts(stop, f"{path}.stopSequences"),
        count=optional_proto_int(wire, "candidateCount", path),
    )
    thinking = wire.get("thinkingConfig")
    reasoning = None if thinking is None else read_thinking(thinking, f"{path}.thinkingConfig")
    members = unknown_values(wire, _GENERATION)
    output = read_output({key: members[key] for key in OUTPUT_MEMBERS if key in members})
    if output is not None:
        members = {key: member for key, member in members.items() if key not in OUTPUT_MEMBERS}
    return sampling, optional_proto_int(wire, "maxOutputTokens", path), output, reasoning, members


def is_output_in_words(request: ModelRequest, profile: Profile) -> bool:
    """Whether the form of the answer cannot be asked for otherwise, because there are tools."""
    is_form = request.output is not None and request.output.type != "text"
    return is_form and bool(request.tools) and not profile.output_with_tools


def write_generation(request: ModelRequest, losses: Losses, profile: Profile) -> JsonObject:
    wire: JsonObject = {}
    sampling = request.sampling
    if sampling is not _NO_SAMPLING:
        for name, value in to_builtins(sampling).items():  # only what is said
            wire[_WIRE_NAMES[name]] = list(value) if name == "stop" else value
    if request.max_output_tokens is not None:
        wire["maxOutputTokens"] = request.max_output_tokens
    if request.output is not None and not is_output_in_words(request, profile):
        wire.update(write_output(request.output, losses, profile))
    if request.reasoning is not None:
        thinking = write_thinking(request.reasoning, losses, profile)
        if thinking is not None:
            wire["thinkingConfig"] = thinking
    for name in profile.dropped_options:
        if (key := _WIRE_NAMES.get(name, name)) in wire:
            del wire[key]
            path = f"sampling.{name}" if name in _WIRE_NAMES else name
            losses.add("option_dropped", path, "The model does not take this option.")
    return wire


def read_choice(value: Any) -> tuple[ToolChoice | None, JsonObject]:
    """The tool choice of a `toolConfig`, and its other members."""
    wire = camel_keys(as_object(value, "toolConfig"))
    members = unknown_values(wire, frozenset({"functionCallingConfig"}))
    if wire.get("functionCallingConfig") is None:
        return None, members
    path = "toolConfig.functionCallingConfig"
    calling = camel_keys(as_object(wire["functionCallingConfig"], path))
    mode = optional_text(calling, "mode", path)
    allowed = calling.get("allowedFunctionNames")
    names = () if allowed is None else _texts(allowed, f"{path}.allowedFunctionNames")
    canonical = _MODES.get((mode or "AUTO").upper(), "auto")
    private = unknown_values(calling, _CALLING)
    if mode != _usual_mode(canonical, names):
        private["_mode"] = mode
    choice = ToolChoice(mode=canonical, names=names, private=keep(DIALECT, private))  # type: ignore[arg-type]
    return choice, members


def write_choice(request: ModelRequest, names: NameTable, losses: Losses, profile: Profile) -> JsonObject | None:
    """The `functionCallingConfig`; None to leave the decision to Gemini's own default."""
    choice = request.tool_choice
    if choice == _AUTO and names.names and request.parallel_calls is None and not _wants_strict(request):
        return {"mode": "AUTO"}
    if request.parallel_calls is False:
        losses.add("option_dropped", "parallel_calls", "Gemini cannot be told to make one call at a time.")
    wants_strict = _wants_strict(request)
    if wants_strict and not profile.validated_mode:
        losses.add("option_dropped", "tools", "The model cannot be held to the schemas.")
        wants_strict = False
    if choice is None:
        return {"mode": "VALIDATED"} if wants_strict else None
    members = take_own(choice.private, DIALECT, "tool_choice", losses) if choice.private else {}
    if not members and not names.names:
        if choice.mode == "required":
            losses.add("choice_approximated", "tool_choice", "Without functions there is nothing to choose.")
        return None  # Gemini refuses a calling mode without function declarations
    mode: Any = _usual_mode(choice.mode, choice.names)
    if choice.mode == "auto" and choice.names and not profile.validated_mode:
        losses.add("choice_approximated", "tool_choice", "The model cannot be kept to some of the tools.")
        return {"mode": "AUTO"}
    if mode == "AUTO" and wants_strict and not members:
        mode = "VALIDATED"
    mode = members.get("_mode", mode)
    wire: JsonObject = {} if mode is None else {"mode": mode}
    if choice.names:
        wire["allowedFunctionNames"] = [names.wire(name) for name in choice.names]
    wire.update(visible(members))
    return wire


def _usual_mode(mode: str, names: tuple[str, ...]) -> str:
    if mode == "required":
        return "ANY"
    return "NONE" if mode == "none" else "VALIDATED" if names else "AUTO"


def _wants_strict(request: ModelRequest) -> bool:
    return True in [tool.strict for tool in request.tools if type(tool) is FunctionTool]


def _texts(value: Any, path: str) -> tuple[str, ...]:
    return tuple(as_text(entry, f"{path}[{place}]") for place, entry in enumerate(as_list(value, path)))
