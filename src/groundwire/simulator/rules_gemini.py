"""What Gemini's generateContent refuses, as far as tools and thought signatures are concerned."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure
from groundwire.simulator.gemini_schemas import camel, schema_complaints, unknown
from groundwire.simulator.refusals import Asked, Rule, first_double, first_refusal, objects, placed, text_of
from groundwire.simulator.refusals import refuse as refuse_as
from groundwire.simulator.signatures import is_call_signature, read_base64

MAX_FUNCTIONS = 512
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_DATA = frozenset(
    [
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
        "toolCall", "toolResponse", "audioTranscription",
    ]
)  # fmt: skip
_MEMBERS: dict[str, frozenset[str]] = {
    "request": frozenset(
        [
            "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent",
            "labels", "serviceTier", "model", "store",
        ]
    ),
    "content": frozenset({"role", "parts"}),
    "part": _DATA
    | {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "mediaProcessing", "partMetadata", "speechMetadata"},
    "function_call": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "function_response": frozenset({"id", "name", "parts", "response", "scheduling", "willContinue"}),
    "tool": frozenset(
        [
            "functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch",
            "googleMaps", "computerUse", "enterpriseWebSearch", "exaAiSearch", "parallelAiSearch", "mcpServers", "retrieval",
        ]
    ),
    "declaration": frozenset(
        {"name", "description", "behavior", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"}
    ),
    "tool_config": frozenset({"functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"}),
    "calling": frozenset({"mode", "allowedFunctionNames", "streamFunctionCallArguments"}),
    "generation": frozenset(
        [
            "audioTimestamp", "audioTranscriptionConfig", "candidateCount", "enableAffectiveDialog",
            "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs", "maxOutputTokens",
            "mediaResolution", "modelSelectionConfig", "presencePenalty", "responseFormat", "responseJsonSchema",
            "responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "routingConfig", "seed",
            "speechConfig", "stopSequences", "temperature", "thinkingConfig", "topK", "topP", "translationConfig",
        ]
    ),
    "thinking": frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"}),
}  # fmt: skip


def check(body: JsonObject, headers: Mapping[str, str], model: str) -> Failure | None:
    for failure in _unknown(body, "request", ""):
        return failure
    return first_refusal(RULES, Asked(body=members(body), headers=headers, model=model))


def refuse(message: str) -> Failure:
    return refuse_as(message, type="INVALID_ARGUMENT")


def members(value: Any) -> dict[str, Any]:
    """An object with its member names in camelCase; anything else counts as empty."""
    return {camel(name): member for name, member in value.items()} if isinstance(value, dict) else {}


def generation_of(model: str) -> tuple[int, int]:
    """(3, 0) of `gemini-3-flash`; names that say nothing count as old."""
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def contents_of(body: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Speaker and parts of each turn. The old role of function results counts as the user.

    Contents of the model in a row are one turn: Google's own SDK keeps every chunk of a stream as a content.
    """
    found: list[tuple[str, list[dict[str, Any]]]] = []
    for content in objects(body.get("contents")):
        role = text_of(content.get("role")) or "user"
        parts = [members(part) for part in objects(content.get("parts"))]
        if role == "model" and found and found[-1][0] == "model":
            found[-1][1].extend(parts)
        else:
            found.append(("user" if role == "function" else role, parts))
    return found


def with_whole_turns(body: JsonObject) -> JsonObject:
    """The same request, in which what the model said in one go is one content."""
    contents = objects(body.get("contents"))
    if all(before.get("role") != "model" or after.get("role") != "model" for before, after in pairwise(contents)):
        return body
    joined = [{"role": role, "parts": parts} for role, parts in contents_of(body)]
    return {**body, "contents": joined}  # type: ignore[dict-item]


def calls_in(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [members(part["functionCall"]) for part in parts if part.get("functionCall") is not None]


def responses_in(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [members(part["functionResponse"]) for part in parts if part.get("functionResponse") is not None]


def _unknown(value: Any, kind: str, path: str) -> Iterator[Failure]:
    for name in value if isinstance(value, dict) else ():
        if camel(name) not in _MEMBERS[kind]:
            yield refuse(unknown(name, path))


def _unknown_members(asked: Asked) -> Iterator[Failure]:
    body = asked.body
    for place, content in placed(body.get("contents")):
        yield from _unknown_in_content(content, f"contents[{place}]")
    if isinstance(body.get("systemInstruction"), dict):
        yield from _unknown_in_content(body["systemInstruction"], "system_instruction")  # type: ignore[arg-type]
    for place, tool in placed(body.get("tools")):
        yield from _unknown(tool, "tool", f"tools[{place}]")
        for number, declared in placed(members(tool).get("functionDeclarations")):
            yield from _unknown(declared, "declaration", f"tools[{place}].function_declarations[{number}]")
    config = members(body.get("toolConfig"))
    yield from _unknown(body.get("toolConfig"), "tool_config", "tool_config")
    yield from _unknown(config.get("functionCallingConfig"), "calling", "tool_config.function_calling_config")
    generation = members(body.get("generationConfig"))
    yield from _unknown(body.get("generationConfig"), "generation", "generation_config")
    yield from _unknown(generation.get("thinkingConfig"), "thinking", "generation_config.thinking_config")


def _unknown_in_content(content: dict[str, Any], path: str) -> Iterator[Failure]:
    yield from _unknown(content, "content", path)
    for place, part in placed(content.get("parts")):
        yield from _unknown(part, "part", f"{path}.parts[{place}]")
        known = members(part)
        yield from _unknown(known.get("functionCall"), "function_call", f"{path}.parts[{place}].function_call")
        yield from _unknown(
            known.get("functionResponse"), "function_response", f"{path}.parts[{place}].function_response"
        )


def _contents(asked: Asked) -> Iterator[Failure]:
    contents = asked.body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield refuse("* GenerateContentRequest.contents: contents is not specified")
    for place, content in placed(contents):
        path = f"contents[{place}]"
        if content.get("role") not in (None, "", "user", "model", "function"):
            yield refuse("Please use a valid role: user, model.")
        if not objects(content.get("parts")):
            yield refuse(f"* GenerateContentRequest.{path}.parts: contents.parts must not be empty.")
        for number, part in placed(content.get("parts")):
            yield from _part(members(part), f"{path}.parts[{number}]")


def _part(part: dict[str, Any], path: str) -> Iterator[Failure]:
    data = [name for name in part if name in _DATA and part[name] is not None]
    if not data:
        yield refuse(
            f"* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field"
        )
    elif len(data) > 1:
        yield refuse(f"Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{data[1]}'")
    signature = part.get("thoughtSignature")
    if signature is not None and read_base64(text_of(signature)) is None:
        yield refuse(f"Invalid value at '{path}.thought_signature' (TYPE_BYTES), Base64 decoding failed")
    call = members(part.get("functionCall"))
    if part.get("functionCall") is not None:
        if not text_of(call.get("name")):
            yield refuse(f"* GenerateContentRequest.{path}.function_call.name: Name cannot be empty.")
        if not isinstance(call.get("args", {}), dict):
            yield _not_struct(f"{path}.function_call.args")
    response = members(part.get("functionResponse"))
    if part.get("functionResponse") is not None:
        if not text_of(response.get("name")):
            yield refuse(f"* GenerateContentRequest.{path}.function_response.name: Name cannot be empty.")
        if not isinstance(response.get("response", {}), dict):
            yield _not_struct(f"{path}.function_response.response")


def _not_struct(path: str) -> Failure:
    return refuse(f"Invalid value at '{path}' (type.googleapis.com/google.protobuf.Struct)")


def _order(asked: Asked) -> Iterator[Failure]:
    contents = contents_of(asked.body)
    if contents and contents[0][0] == "model" and not calls_in(contents[0][1]):
        yield refuse("Please ensure that the first content of the conversation has the role user.")
    for place, (role, parts) in enumerate(contents):
        before = contents[place - 1] if place else ("", [])
        calls, responses = calls_in(parts), responses_in(parts)
        if calls and role != "model":
            yield refuse("Please ensure that function calls are in contents with the role model.")
        if calls and before[0] != "user":
            yield refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if responses and (role == "model" or not calls_in(before[1])):
            yield refuse("Please ensure that function response turn comes immediately after a function call turn.")
        expected = calls_in(before[1])
        if expected and len(responses) != len(expected):
            yield _mismatch()
        yield from _matching(expected, responses)
    if contents and calls_in(contents[-1][1]):
        yield _mismatch()


def _mismatch() -> Failure:
    return refuse(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn."
    )


def _matching(calls: list[dict[str, Any]], responses: list[dict[str, Any]]) -> Iterator[Failure]:
    """Answers belong to calls by id where both sides have one, else by name."""
    names = {text_of(call.get("id")): text_of(call.get("name")) for call in calls if call.get("id")}
    for response in responses:
        call_id, name = text_of(response.get("id")), text_of(response.get("name"))
        if names and call_id and call_id not in names:
            yield refuse(f"Please ensure that function response ids match those of the function calls: {call_id}.")
        if name not in [text_of(call.get("name")) for call in calls] or names.get(call_id, name) != name:
            yield refuse(f"Please ensure that function response names match those of the function calls: {name}.")


def _signatures(asked: Asked) -> Iterator[Failure]:
    """From Gemini 3 on, the first call of each step of the current turn must carry the signature it came with."""
    if generation_of(asked.model) < (3, 0):
        return
    contents = contents_of(asked.body)
    starts = [n for n, (role, parts) in enumerate(contents) if role == "user" and len(responses_in(parts)) < len(parts)]
    for place in range(starts[-1] + 1 if starts else 0, len(contents)):
        parts = [part for part in contents[place][1] if part.get("functionCall") is not None]
        for number, part in enumerate(parts):
            call, signature = members(part["functionCall"]), text_of(part.get("thoughtSignature"))
            name, arguments = text_of(call.get("name")), members_kept(call.get("args"))
            if not signature and number == 0:
                yield refuse(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                    "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                    f"data, function call `default_api:{name}`, position {place + 1}."
                )
            elif signature and not is_call_signature(signature, asked.model, name, arguments):
                yield refuse("Corrupted thought signature: thought_signature is not valid for this function call.")


def members_kept(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tools(asked: Asked) -> Iterator[Failure]:
    names = []
    for place, tool in placed(asked.body.get("tools")):
        for number, each in placed(members(tool).get("functionDeclarations")):
            path = f"tools[{place}].function_declarations[{number}]"
            declared = members(each)
            name = text_of(declared.get("name"))
            if not _NAME.fullmatch(name):
                yield refuse(
                    f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a letter or an "
                    "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
                    "(-), with a maximum length of 128."
                )
            names.append(name)
            yield from _parameters(declared, path)
    if len(names) > MAX_FUNCTIONS:
        yield refuse(
            f"* GenerateContentRequest.tools: at most {MAX_FUNCTIONS} function declarations are allowed, got {len(names)}."
        )
    double = first_double(names)
    if double is not None:
        yield refuse(f"Duplicate function declaration found: {double}")


def _parameters(declared: dict[str, Any], path: str) -> Iterator[Failure]:
    native, schema = declared.get("parameters"), declared.get("parametersJsonSchema")
    if native is not None and schema is not None:
        yield refuse(f"* GenerateContentRequest.{path}: parameters and parameters_json_schema are mutually exclusive.")
    if native is not None:
        name = f"GenerateContentRequest.{path}.parameters"
        for complaint in schema_complaints(native, f"{path}.parameters", name, root=True):
            yield refuse(complaint)
    if schema is not None and (not isinstance(schema, dict) or schema.get("type") != "object"):
        yield refuse(
            f"* GenerateContentRequest.{path}.parameters_json_schema: parameters schema should be of type OBJECT"
        )


def _config(asked: Asked) -> Iterator[Failure]:
    config = members(members(asked.body.get("toolConfig")).get("functionCallingConfig"))
    if not config:
        return
    mode = text_of(config.get("mode")).upper()
    names = [
        text_of(members(declared).get("name"))
        for tool in objects(asked.body.get("tools"))
        for declared in objects(members(tool).get("functionDeclarations"))
    ]
    if mode not in ("", "MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"):
        yield refuse(f"Invalid value at 'tool_config.function_calling_config.mode', \"{mode}\"")
    if not names and mode in ("ANY", "VALIDATED"):
        yield refuse("Function calling config is set without function_declarations.")
    allowed = config.get("allowedFunctionNames")
    if allowed and mode not in ("ANY", "VALIDATED"):
        yield refuse("allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.")
    for name in allowed if isinstance(allowed, list) else ():
        if name not in names:
            yield refuse(f"allowed_function_names contains a name that is not declared: {name}")


def _output(asked: Asked) -> Iterator[Failure]:
    generation = members(asked.body.get("generationConfig"))
    has_functions = any(members(tool).get("functionDeclarations") for tool in objects(asked.body.get("tools")))
    is_json = text_of(generation.get("responseMimeType")) == "application/json"
    if has_functions and is_json and (0, 0) < generation_of(asked.model) < (3, 0):
        yield refuse("Function calling with a response mime type: 'application/json' is unsupported")
    count = generation.get("candidateCount")
    if isinstance(count, int) and count > 1:
        yield refuse("The simulator gives one answer to a request: candidate_count must be 1.")


RULES: tuple[Rule, ...] = (_unknown_members, _contents, _order, _signatures, _tools, _config, _output)
