"""The setup of a Gemini Live session, and contextUpdate, which replaces parts of it later.

Tools are declared with the upper-case form of schemas: Live does not read plain JSON Schema.
"""

from typing import Any

from groundwire.codecs.gemini_live.contents import read_instructions, write_part
from groundwire.codecs.gemini_live.naming import DIALECT, camel_members, camel_name
from groundwire.codecs.schemas.forms import from_openapi_subset, to_openapi_subset
from groundwire.codecs.wire.freeform import FREEFORM_PARAMETERS
from groundwire.codecs.wire.live import merge, note_left_out, put, take
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import keep, own_members, unknown_members, visible
from groundwire.codecs.wire.reading import (
    as_text,
    join,
    optional_bool,
    optional_list,
    optional_number,
    optional_proto_int,
    optional_text,
    required_text,
)
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.frames import AudioFormat, Resumption, SessionSetup, Transcription, TurnDetection
from groundwire.contracts.messages import TextPart
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool, Sampling

_CONTAINERS = frozenset({
    "generationConfig", "speechConfig", "voiceConfig", "prebuiltVoiceConfig", "realtimeInputConfig",
    "automaticActivityDetection", "sessionResumption", "inputAudioTranscription", "outputAudioTranscription",
    "contextWindowCompression", "slidingWindow", "proactivity", "historyConfig", "systemInstruction", "thinkingConfig",
})  # fmt: skip
_DECLARATION = frozenset({"name", "description", "parameters", "parametersJsonSchema"})
_HANDLING = {"START_OF_ACTIVITY_INTERRUPTS": True, "NO_INTERRUPTION": False}
_VOICE = ("speechConfig", "voiceConfig", "prebuiltVoiceConfig", "voiceName")


def read_setup(value: Any, path: str, *, is_update: bool = False) -> SessionSetup:
    """Members that have no place of their own stay, as deep as they stood, in the extras."""
    rest = _opened(camel_members(value, path))
    options = rest.get("generationConfig")
    options = options if isinstance(options, dict) else {}
    here = join(path, "generationConfig")
    instructions = _take_instructions(rest, path)
    setup = SessionSetup(
        model=as_text(rest.pop("model", None) or "", join(path, "model")),
        instructions=instructions,
        tools=_take_tools(rest, path),
        modalities=_take_texts(options, "responseModalities", here, lower=True),
        voice=_take_voice(options, here),
        turn_detection=_take_turn_detection(rest, path),
        input_transcription=_take_transcription(rest, "inputAudioTranscription"),
        output_transcription=_take_transcription(rest, "outputAudioTranscription"),
        resumption=_take_resumption(rest, path),
        sampling=_take_sampling(options, here),
        max_output_tokens=_taken(options, "maxOutputTokens", optional_proto_int(options, "maxOutputTokens", here)),
        extras={DIALECT: rest},
    )
    if not options and "generationConfig" in rest:
        del rest["generationConfig"]
        rest["_generation_config"] = True
    if is_update:
        rest["_update"] = True
    return setup


def _opened(source: JsonObject) -> JsonObject:
    """A copy that may be taken apart, with camelCase names in the objects that are Gemini's own."""
    opened: JsonObject = {}
    for key, value in source.items():
        name = camel_name(key)
        opened[name] = _opened(value) if name in _CONTAINERS and isinstance(value, dict) else value
    return opened


def _taken(source: JsonObject, name: str, value: Any) -> Any:
    source.pop(name, None)
    return value


def _take_texts(source: JsonObject, name: str, path: str, *, lower: bool = False) -> tuple[str, ...]:
    values = optional_list(source, name, path)
    if values:
        del source[name]
    texts = [as_text(value, f"{join(path, name)}[{place}]") for place, value in enumerate(values)]
    return tuple(text.lower() for text in texts) if lower else tuple(texts)


def _take_instructions(rest: JsonObject, path: str) -> tuple[TextPart, ...]:
    value = rest.get("systemInstruction")
    if isinstance(value, str):
        rest["systemInstruction"] = {}
        return (TextPart(text=value),)
    if not isinstance(value, dict):
        return ()
    parts = read_instructions(value, join(path, "systemInstruction"))
    if parts:
        take(rest, "systemInstruction", "parts")
    return parts or ()


def _take_voice(options: JsonObject, path: str) -> str | None:
    value = take(options, *_VOICE)
    return None if value is None else as_text(value, join(path, ".".join(_VOICE)))


def _take_turn_detection(rest: JsonObject, path: str) -> TurnDetection | None:
    options = rest.pop("realtimeInputConfig", None)
    if not isinstance(options, dict):
        return None
    here = join(path, "realtimeInputConfig")
    automatic = options.get("automaticActivityDetection")
    automatic = automatic if isinstance(automatic, dict) else {}
    below = join(here, "automaticActivityDetection")
    is_disabled = optional_bool(automatic, "disabled", below) is True
    padding, silence = (
        optional_proto_int(automatic, "prefixPaddingMs", below),
        optional_proto_int(automatic, "silenceDurationMs", below),
    )
    handling = options.get("activityHandling")
    interrupts = _HANDLING.get(handling) if isinstance(handling, str) else None
    if interrupts is not None:
        del options["activityHandling"]
    for name, value in (("disabled", is_disabled), ("prefixPaddingMs", padding), ("silenceDurationMs", silence)):
        if value is not False and value is not None:
            take(options, "automaticActivityDetection", name)
    return TurnDetection(
        automatic=not is_disabled,
        interrupts=interrupts,
        prefix_padding_ms=padding,
        silence_ms=silence,
        private={DIALECT: options},
    )


def _take_transcription(rest: JsonObject, name: str) -> Transcription | None:
    options = rest.get(name)
    if not isinstance(options, dict):
        return None
    del rest[name]
    codes = options.get("languageCodes")
    language = None
    if isinstance(codes, list) and len(codes) == 1 and isinstance(codes[0], str):
        language = codes[0]
        del options["languageCodes"]
    return Transcription(language=language, private=keep(DIALECT, options))


def _take_resumption(rest: JsonObject, path: str) -> Resumption | None:
    options = rest.get("sessionResumption")
    if not isinstance(options, dict):
        return None
    del rest["sessionResumption"]
    handle = _taken(options, "handle", optional_text(options, "handle", join(path, "sessionResumption")))
    return Resumption(handle=handle, private=keep(DIALECT, options))


def _take_sampling(options: JsonObject, path: str) -> Sampling:
    return Sampling(
        temperature=_taken(options, "temperature", optional_number(options, "temperature", path)),
        top_p=_taken(options, "topP", optional_number(options, "topP", path)),
        top_k=_taken(options, "topK", optional_number(options, "topK", path)),
        seed=_taken(options, "seed", optional_proto_int(options, "seed", path)),
        presence_penalty=_taken(options, "presencePenalty", optional_number(options, "presencePenalty", path)),
        frequency_penalty=_taken(options, "frequencyPenalty", optional_number(options, "frequencyPenalty", path)),
        stop=_take_texts(options, "stopSequences", path),
        count=_taken(options, "candidateCount", optional_proto_int(options, "candidateCount", path)),
    )


def _take_tools(rest: JsonObject, path: str) -> tuple[DeclaredTool, ...]:
    """An empty list stays where it stands: in an update it takes all tools away."""
    tools = optional_list(rest, "tools", path)
    if tools:
        del rest["tools"]
    return _read_tools(tools, join(path, "tools"))


def _read_tools(tools: list[Any], path: str) -> tuple[DeclaredTool, ...]:
    read: list[DeclaredTool] = []
    for place, value in enumerate(tools):
        here = f"{path}[{place}]"
        tool = camel_members(value, here)
        for index, declaration in enumerate(optional_list(tool, "functionDeclarations", here)):
            read.append(_read_declaration(declaration, f"{here}.functionDeclarations[{index}]", place))
        for name, options in tool.items():
            if name != "functionDeclarations":
                read.append(NativeTool(origin=DIALECT, value={name: options}))
    return tuple(read)


def _read_declaration(value: Any, path: str, group: int) -> FunctionTool:
    source = camel_members(value, path)
    private = unknown_members(source, _DECLARATION)
    if group:
        private["_group"] = group
    parameters = source.get("parameters")
    if isinstance(parameters, dict):
        private["_parameters"] = parameters
        parameters = from_openapi_subset(parameters)
    elif isinstance(source.get("parametersJsonSchema"), dict):
        parameters = source["parametersJsonSchema"]
        private["_json_schema"] = True
    return FunctionTool(
        name=required_text(source, "name", path),
        description=optional_text(source, "description", path),
        parameters=parameters if isinstance(parameters, dict) else None,
        private=keep(DIALECT, private),
    )


def write_setup(setup: SessionSetup, names: NameTable, losses: Losses) -> JsonObject:
    """The setup; what Live cannot be told is warned of."""
    written = visible(own_members(setup.extras, DIALECT))
    if own_members(setup.extras, DIALECT).get("_generation_config"):
        written["generationConfig"] = {}
    note_left_out(setup.extras, DIALECT, "setup", losses, code="extra_dropped")
    more: JsonObject = {}
    if setup.model:
        more["model"] = setup.model
    if setup.instructions:
        more["systemInstruction"] = {"parts": [write_part(part, losses, "setup") for part in setup.instructions]}
    if tools := _write_tools(setup, names, losses):
        more["tools"] = tools
    if options := _generation_options(setup):
        more["generationConfig"] = options
    if setup.turn_detection is not None:
        more["realtimeInputConfig"] = _turn_options(setup.turn_detection, losses)
    if setup.input_transcription is not None:
        more["inputAudioTranscription"] = _transcription_options(setup.input_transcription, losses)
    if setup.output_transcription is not None:
        more["outputAudioTranscription"] = _transcription_options(setup.output_transcription, losses)
    if setup.resumption is not None:
        handle: JsonObject = {"handle": setup.resumption.handle} if setup.resumption.handle else {}
        more["sessionResumption"] = {**visible(own_members(setup.resumption.private, DIALECT)), **handle}
    _note_untold(setup, losses)
    return merge(dict(written), more)


def _note_untold(setup: SessionSetup, losses: Losses) -> None:
    if setup.parallel_calls is False:
        losses.add("option_dropped", "setup.parallel_calls", "Live decides itself about parallel calls.")
    output = setup.output_format
    if output is not None and (output.media_type, output.rate) not in (("audio/pcm", None), ("audio/pcm", 24000)):
        losses.add("option_dropped", "setup.output_format", f"Live speaks PCM of 24000 Hz, not {_said(output)}.")


def _said(audio: AudioFormat) -> str:
    return audio.media_type if audio.rate is None else f"{audio.media_type} of {audio.rate} Hz"


def _generation_options(setup: SessionSetup) -> JsonObject:
    sampling = setup.sampling
    options: JsonObject = {
        "responseModalities": [name.upper() for name in setup.modalities] or None,
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "topK": sampling.top_k,
        "seed": sampling.seed,
        "presencePenalty": sampling.presence_penalty,
        "frequencyPenalty": sampling.frequency_penalty,
        "stopSequences": list(sampling.stop) or None,
        "candidateCount": sampling.count,
        "maxOutputTokens": setup.max_output_tokens,
    }
    written: JsonObject = {name: value for name, value in options.items() if value is not None}
    if setup.voice is not None:
        put(written, setup.voice, *_VOICE)
    return written


def _turn_options(detection: TurnDetection, losses: Losses) -> JsonObject:
    written: JsonObject = {}
    note_left_out(detection.private, DIALECT, "setup.turn_detection", losses)
    if not detection.automatic:
        put(written, True, "automaticActivityDetection", "disabled")
    if detection.prefix_padding_ms is not None:
        put(written, detection.prefix_padding_ms, "automaticActivityDetection", "prefixPaddingMs")
    if detection.silence_ms is not None:
        put(written, detection.silence_ms, "automaticActivityDetection", "silenceDurationMs")
    if detection.interrupts is not None:
        written["activityHandling"] = "START_OF_ACTIVITY_INTERRUPTS" if detection.interrupts else "NO_INTERRUPTION"
    if detection.responds is False and detection.automatic:
        losses.add("option_dropped", "setup.turn_detection.responds", "Live answers whenever the user has spoken.")
    return merge(visible(own_members(detection.private, DIALECT)), written)


def _transcription_options(transcription: Transcription, losses: Losses) -> JsonObject:
    note_left_out(transcription.private, DIALECT, "setup.transcription", losses)
    if transcription.model is not None:
        losses.add("option_dropped", "setup.transcription.model", "Live transcribes with a model of its own.")
    written = visible(own_members(transcription.private, DIALECT))
    if transcription.language is not None:
        written["languageCodes"] = [transcription.language]
    return written


def _write_tools(setup: SessionSetup, names: NameTable, losses: Losses) -> list[JsonValue]:
    groups: dict[object, list[JsonValue]] = {}
    natives: list[JsonValue] = []
    for place, tool in enumerate(setup.tools):
        here = f"setup.tools[{place}]"
        if isinstance(tool, NativeTool):
            if tool.origin == DIALECT:
                natives.append(tool.value)
            else:
                losses.add_tool(here, tool)
        elif _is_offered(setup, tool, losses):
            declaration = _write_declaration(tool, names, losses, here)
            groups.setdefault(own_members(tool.private, DIALECT).get("_group"), []).append(declaration)
    functions: list[JsonValue] = [{"functionDeclarations": group} for group in groups.values()]
    return functions + natives


def _is_offered(setup: SessionSetup, tool: FunctionTool, losses: Losses) -> bool:
    """Live knows no tool choice: a tool that must not be called is not offered."""
    choice = setup.tool_choice
    if choice is None or (choice.mode == "auto" and not choice.names):
        return True
    losses.add("choice_approximated", "setup.tool_choice", "Live has no tool choice; only offering fewer tools.")
    return choice.mode != "none" and (not choice.names or tool.name in choice.names)


def _write_declaration(tool: FunctionTool, names: NameTable, losses: Losses, path: str) -> JsonObject:
    note_left_out(tool.private, DIALECT, path, losses)
    written = visible(own_members(tool.private, DIALECT))
    written["name"] = names.declare(tool.name, f"{path}.name")
    if tool.description is not None:
        written["description"] = tool.description
    if tool.strict:
        losses.add("option_dropped", f"{path}.strict", "Live has no strict tools.")
    parameters = tool.schema
    if tool.freeform is not None:
        losses.add("format_approximated", path, "Plain text input is offered as the argument `input`.")
        parameters = FREEFORM_PARAMETERS
    if parameters is None:
        return written
    original = own_members(tool.private, DIALECT).get("_parameters")
    if isinstance(original, dict) and from_openapi_subset(original) == parameters:
        written["parameters"] = original
    elif own_members(tool.private, DIALECT).get("_json_schema"):
        written["parametersJsonSchema"] = parameters
    else:
        converted = to_openapi_subset(parameters)
        losses.add_schema(f"{path}.parameters", converted.warnings)
        written["parameters"] = converted.schema
    return written
