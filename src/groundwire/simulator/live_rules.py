"""What Gemini Live refuses. There is no error message on its wire: it closes the connection and gives a reason."""

from collections.abc import Container
from typing import Any

from groundwire.simulator.gemini_schemas import schema_complaints
from groundwire.simulator.refusals import objects, placed, text_of
from groundwire.simulator.rules_gemini import check, members

INVALID = 1007
_MESSAGES = ("clientContent", "realtimeInput", "toolResponse", "contextUpdate")
_EMPTY_OBJECT = "should be non-empty for OBJECT type"


class LiveRefused(Exception):
    """Why the connection is closed."""

    def __init__(self, reason: str, code: int = INVALID) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def check_setup(message: dict[str, Any]) -> dict[str, Any]:
    """The setup, member names in camelCase."""
    if list(message) != ["setup"]:
        raise LiveRefused("The first message must be setup, and nothing else.")
    setup = members(message["setup"])
    if not text_of(setup.get("model")):
        raise LiveRefused("setup.model is required.")
    modalities = members(setup.get("generationConfig")).get("responseModalities")
    if isinstance(modalities, list) and len(modalities) > 1:
        raise LiveRefused("A session has one response modality.")
    _check_tools(setup.get("tools"))
    return setup


def _check_tools(tools: Any) -> None:
    """As for generateContent, except that only the native schema form is known here, and may be an empty object."""
    named = []
    for place, tool in placed(tools):
        declarations = objects(members(tool).get("functionDeclarations"))
        for number, each in enumerate(declarations):
            declared = members(each)
            path = f"setup.tools[{place}].function_declarations[{number}]"
            if "parametersJsonSchema" in declared:
                raise LiveRefused(f"parametersJsonSchema is not supported here: {path}")
            schema = declared.pop("parameters", None)
            for complaint in schema_complaints(schema, path, path, root=True) if schema is not None else ():
                if _EMPTY_OBJECT not in complaint:
                    raise LiveRefused(complaint)
            named.append(declared)
    asked: dict[str, Any] = {"contents": [{"parts": [{"text": "?"}]}], "tools": [{"functionDeclarations": named}]}
    failure = check(asked, {}, "") if named else None
    if failure is not None:
        raise LiveRefused(failure.message)


def check_message(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Which of the messages it is, and what it holds."""
    known = members(message)
    if "setup" in known:
        raise LiveRefused("setup can be sent only once, as the first message.")
    if len(known) != 1 or next(iter(known)) not in _MESSAGES:
        raise LiveRefused(f"A message has exactly one of {', '.join(_MESSAGES)}.")
    ((kind, content),) = known.items()
    if not isinstance(content, dict):
        raise LiveRefused(f"Invalid value at '{kind}'.")
    return kind, members(content)


def check_responses(content: dict[str, Any], issued: Container[str]) -> list[dict[str, Any]]:
    responses = [members(response) for response in objects(content.get("functionResponses"))]
    if not responses:
        raise LiveRefused("toolResponse.function_responses is required.")
    for response in responses:
        if text_of(response.get("id")) not in issued:
            raise LiveRefused(f"There is no function call with the id {response.get('id')!r}.")
        if not isinstance(response.get("response", {}), dict):
            raise LiveRefused("function_response.response must be an object.")
    return responses
