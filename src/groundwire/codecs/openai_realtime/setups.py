"""The options of a Realtime session, as setup and back. Every update may name only what changes.

The model stands in the address of the connection, so a setup of another API names it in vain here.
"""

from typing import Any

from groundwire.codecs.openai_realtime.naming import DIALECT, RATES
from groundwire.codecs.schemas.forms import to_openai
from groundwire.codecs.wire.freeform import FREEFORM_PARAMETERS
from groundwire.codecs.wire.live import merge, note_left_out, put, take
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import keep, own_members, unknown_members, visible
from groundwire.codecs.wire.reading import (
    as_list,
    as_object,
    as_text,
    join,
    optional_bool,
    optional_int,
    optional_list,
    optional_object,
    optional_text,
    required_text,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.frames import AudioFormat, SessionSetup, Transcription, TurnDetection
from groundwire.contracts.messages import TextPart
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool, ToolChoice

TRANSCRIBER = "whisper-1"
"""Transcribes the user's speech where a setup asks for that without naming a model."""

_TOOL = frozenset({"type", "name", "description", "parameters"})
_DETECTION = frozenset({"interrupt_response", "create_response", "prefix_padding_ms", "silence_duration_ms"})


def read_setup(value: JsonObject, path: str) -> SessionSetup:
    """Members that have no place of their own stay, as deep as they stood, in the extras."""
    rest = dict(value)
    audio = optional_object(rest, "audio", path)
    if audio is not None:
        rest["audio"] = {name: dict(side) if isinstance(side, dict) else side for name, side in audio.items()}
    here = join(path, "audio")
    instructions = optional_text(rest, "instructions", path)
    tools = optional_list(rest, "tools", path)
    if "tools" in rest and not tools:
        rest["_tools"] = True
    setup = SessionSetup(
        model=as_text(take(rest, "model") or "", join(path, "model")),
        instructions=() if instructions is None else (TextPart(text=instructions),),
        tools=_read_tools(tools, join(path, "tools")),
        tool_choice=_take_choice(rest),
        parallel_calls=optional_bool(rest, "parallel_tool_calls", path),
        modalities=_read_modalities(rest, path),
        voice=_take_text(rest, "audio", "output", "voice"),
        input_format=_take_format(rest, "input"),
        output_format=_take_format(rest, "output"),
        turn_detection=_take_detection(rest, here),
        input_transcription=_take_transcription(rest, here),
        # An answer in audio always comes with its words.
        output_transcription=Transcription(),
        max_output_tokens=_take_limit(rest),
        extras={DIALECT: rest},
    )
    for name in ("instructions", "tools", "parallel_tool_calls", "output_modalities"):
        rest.pop(name, None)
    return setup


def _read_modalities(rest: JsonObject, path: str) -> tuple[str, ...]:
    found = optional_list(rest, "output_modalities", path)
    return tuple(as_text(name, join(path, "output_modalities")) for name in found)


def _take_text(rest: JsonObject, *path: str) -> str | None:
    """A text; an object in its place (a voice by its id) is left where it stands."""
    *way, name = path
    inner: Any = rest
    for step in way:
        inner = inner.get(step) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get(name), str):
        return None
    return as_text(take(rest, *path), ".".join(path))


def _take_limit(rest: JsonObject) -> int | None:
    """`inf` is no number and stays where it stands."""
    value = rest.get("max_output_tokens")
    if isinstance(value, int) and not isinstance(value, bool):
        del rest["max_output_tokens"]
        return value
    return None


def _take_choice(rest: JsonObject) -> ToolChoice | None:
    value = rest.get("tool_choice")
    choice: ToolChoice | None = None
    if value == "auto":
        choice = ToolChoice(mode="auto")
    elif value == "none":
        choice = ToolChoice(mode="none")
    elif value == "required":
        choice = ToolChoice(mode="required")
    elif isinstance(value, dict) and value.keys() == {"type", "name"} and value["type"] == "function":
        name = value["name"]
        choice = ToolChoice(mode="required", names=(name,)) if isinstance(name, str) else None
    if choice is not None:
        del rest["tool_choice"]
    return choice


def _side(rest: JsonObject, side: str) -> JsonObject:
    audio = rest.get("audio")
    found = audio.get(side) if isinstance(audio, dict) else None
    return found if isinstance(found, dict) else {}


def _take_format(rest: JsonObject, side: str) -> AudioFormat | None:
    value = _side(rest, side).get("format")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    rate = value.get("rate")
    if not isinstance(rate, (int, type(None))) or isinstance(rate, bool):
        return None
    take(rest, "audio", side, "format")
    kind = value["type"] if isinstance(value["type"], str) else ""
    return AudioFormat(
        media_type=kind, rate=rate, private=keep(DIALECT, unknown_members(value, frozenset({"type", "rate"})))
    )


def _take_detection(rest: JsonObject, path: str) -> TurnDetection | None:
    """Null means that the client itself says when the user has spoken; absent means that nothing changes."""
    options = _side(rest, "input")
    if "turn_detection" not in options:
        return None
    here = join(path, "input.turn_detection")
    value = take(rest, "audio", "input", "turn_detection")
    if value is None:
        return TurnDetection(automatic=False)
    source = as_object(value, here)
    return TurnDetection(
        interrupts=optional_bool(source, "interrupt_response", here),
        responds=optional_bool(source, "create_response", here),
        prefix_padding_ms=optional_int(source, "prefix_padding_ms", here),
        silence_ms=optional_int(source, "silence_duration_ms", here),
        private=keep(DIALECT, unknown_members(source, _DETECTION)),
    )


def _take_transcription(rest: JsonObject, path: str) -> Transcription | None:
    if not isinstance(_side(rest, "input").get("transcription"), dict):
        return None
    here = join(path, "input.transcription")
    source = as_object(take(rest, "audio", "input", "transcription"), here)
    return Transcription(
        model=optional_text(source, "model", here),
        language=optional_text(source, "language", here),
        private={DIALECT: unknown_members(source, frozenset({"model", "language"}))},
    )


def _read_tools(tools: list[Any], path: str) -> tuple[DeclaredTool, ...]:
    read: list[DeclaredTool] = []
    for place, value in enumerate(as_list(tools, path)):
        here = f"{path}[{place}]"
        tool = as_object(value, here)
        if tool.get("type", "function") != "function":
            read.append(NativeTool(origin=DIALECT, value=tool))
            continue
        read.append(
            FunctionTool(
                name=required_text(tool, "name", here),
                description=optional_text(tool, "description", here),
                parameters=optional_object(tool, "parameters", here),
                private={DIALECT: unknown_members(tool, _TOOL)},
            )
        )
    return tuple(read)


def write_setup(setup: SessionSetup, names: NameTable, losses: Losses) -> JsonObject:
    is_own = DIALECT in setup.extras
    note_left_out(setup.extras, DIALECT, "setup", losses, code="extra_dropped")
    more: JsonObject = {} if is_own else {"type": "realtime"}
    if is_own and setup.model:
        more["model"] = setup.model
    if setup.instructions:
        more["instructions"] = "\n\n".join(part.text for part in setup.instructions)
    if setup.modalities:
        more["output_modalities"] = list(setup.modalities)
    tools = _write_tools(setup, names, losses)
    if tools or own_members(setup.extras, DIALECT).get("_tools"):
        more["tools"] = tools
    if setup.tool_choice is not None:
        more["tool_choice"] = _write_choice(setup.tool_choice, names, losses)
    if setup.parallel_calls is not None:
        more["parallel_tool_calls"] = setup.parallel_calls
    if setup.max_output_tokens is not None:
        more["max_output_tokens"] = setup.max_output_tokens
    _write_audio(setup, more, losses)
    _note_untold(setup, losses)
    return merge(visible(own_members(setup.extras, DIALECT)), more)


def _note_untold(setup: SessionSetup, losses: Losses) -> None:
    if setup.resumption is not None:
        losses.add("option_dropped", "setup.resumption", "A Realtime session cannot be resumed.")
    for name in setup.sampling.__struct_fields__:
        if getattr(setup.sampling, name) not in (None, ()):
            losses.add("option_dropped", f"setup.sampling.{name}", "A Realtime session has no such option.")


def _write_audio(setup: SessionSetup, more: JsonObject, losses: Losses) -> None:
    if setup.voice is not None:
        put(more, setup.voice, "audio", "output", "voice")
    if setup.input_format is not None:
        put(more, _write_format(setup.input_format, losses, "setup.input_format"), "audio", "input", "format")
    if setup.output_format is not None:
        put(more, _write_format(setup.output_format, losses, "setup.output_format"), "audio", "output", "format")
    if setup.turn_detection is not None:
        put(more, _write_detection(setup.turn_detection, losses), "audio", "input", "turn_detection")
    if setup.input_transcription is not None:
        options = _write_transcription(setup.input_transcription, losses)
        put(more, options, "audio", "input", "transcription")


def _write_format(audio: AudioFormat, losses: Losses, path: str) -> JsonObject:
    own = visible(own_members(audio.private, DIALECT))
    if audio.media_type not in RATES or audio.rate not in (None, RATES[audio.media_type]):
        losses.add(
            "option_adjusted", path, f"PCM of 24000 Hz is agreed instead of {audio.media_type}, {audio.rate} Hz."
        )
        return {"type": "audio/pcm", "rate": 24000}
    return {"type": audio.media_type, **({} if audio.rate is None else {"rate": audio.rate}), **own}


def _write_detection(detection: TurnDetection, losses: Losses) -> JsonObject | None:
    note_left_out(detection.private, DIALECT, "setup.turn_detection", losses)
    if not detection.automatic:
        return None
    options: JsonObject = {
        "type": "server_vad",
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_ms,
        "create_response": detection.responds,
        "interrupt_response": detection.interrupts,
    }
    told: JsonObject = {name: value for name, value in options.items() if value is not None}
    return {**told, **visible(own_members(detection.private, DIALECT))}


def _write_transcription(transcription: Transcription, losses: Losses) -> JsonObject:
    note_left_out(transcription.private, DIALECT, "setup.transcription", losses)
    written = visible(own_members(transcription.private, DIALECT))
    model = transcription.model
    if model is None and DIALECT not in transcription.private:
        model = TRANSCRIBER
    if model is not None:
        written["model"] = model
    if transcription.language is not None:
        written["language"] = transcription.language
    return written


def _write_choice(choice: ToolChoice, names: NameTable, losses: Losses) -> JsonValue:
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "function", "name": names.wire(choice.names[0])}
    if choice.names:
        losses.add("choice_approximated", "setup.tool_choice", "Only the tools of the choice are offered.")
    return choice.mode


def _write_tools(setup: SessionSetup, names: NameTable, losses: Losses) -> list[JsonValue]:
    choice = setup.tool_choice
    only = choice.names if choice is not None and len(choice.names) > (choice.mode == "required") else ()
    written: list[JsonValue] = []
    for place, tool in enumerate(setup.tools):
        here = f"setup.tools[{place}]"
        if isinstance(tool, NativeTool):
            if tool.origin == DIALECT:
                written.append(tool.value)
            else:
                losses.add_tool(here, tool)
        elif not only or tool.name in only:
            written.append(_write_function(tool, names, losses, here))
    return written


def _write_function(tool: FunctionTool, names: NameTable, losses: Losses, path: str) -> JsonObject:
    note_left_out(tool.private, DIALECT, path, losses)
    written: JsonObject = {"type": "function", "name": names.declare(tool.name, f"{path}.name")}
    if tool.description is not None:
        written["description"] = tool.description
    if tool.strict:
        losses.add("option_dropped", f"{path}.strict", "A Realtime session has no strict tools.")
    parameters = tool.schema
    if tool.freeform is not None:
        losses.add("format_approximated", path, "Plain text input is offered as the argument `input`.")
        parameters = FREEFORM_PARAMETERS
    if parameters is not None and DIALECT not in tool.private:
        converted = to_openai(parameters)
        losses.add_schema(f"{path}.parameters", converted.warnings)
        parameters = converted.schema
    if parameters is not None:
        written["parameters"] = parameters
    return {**visible(own_members(tool.private, DIALECT)), **written}
