"""Tool calls for a model that was never taught any: tools told in words, the answer held to a schema, and read back.

Pure functions. It knows nothing of the runner, except that it keeps answers to a JSON schema. An answer is one of

    {"tool": "get_weather", "arguments": {"city": "Oslo"}}
    {"answer": "It rains."}
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from groundwire.codecs.openai_chat import DIALECT, Profile, encode_request
from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, derived_id, names_by_id
from groundwire.codecs.wire.json import dump_text, read_value
from groundwire.codecs.wire.results import object_arguments
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ProviderError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message, ResultItem, TextPart, say
from groundwire.contracts.replies import Finish, FinishReason, Reply, WireWarning
from groundwire.contracts.requests import FunctionTool, ModelRequest, OutputFormat

ORIGIN = "local"
_PROFILE = Profile(
    max_tokens_field="max_tokens",
    merge_same_role=True,
    empty_content="empty",
    system_role="system",
    minimal_messages=True,
    flat_text=True,
    takes_top_k=True,
    dropped_options=frozenset({"n"}),
)
_ANY_OBJECT: JsonObject = {"type": "object"}
_FREE_TEXT: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_VALUES = frozenset({"const", "default", "enum", "examples"})
_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_CUT_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")(?:\s*,\s*"arguments"\s*:\s*(.*))?', re.DOTALL)
_CUT_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*(.*)', re.DOTALL)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)(?:\\ud[89ab][0-9a-f]{2})?\\(?:u[0-9a-f]{0,3})?$", re.IGNORECASE)


class Question(Struct, frozen=True, kw_only=True):
    """What the runner is asked. `is_held`: the answer will be in the form above, its text JSON if `wants_json`."""

    body: JsonObject
    is_held: bool
    wants_json: bool
    warnings: tuple[WireWarning, ...] = ()


def pose(request: ModelRequest) -> Question:
    losses = Losses()
    tools = _offered(request, losses)
    is_required = request.tool_choice is not None and request.tool_choice.mode == "required"
    if is_required and not tools:
        message = "A call is required, but none of the chosen tools is on offer."
        raise ProviderError(Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400))
    output = request.output
    wants_json = output is not None and output.type != "text"
    told = request.instructions
    if tools:
        told = (*told, TextPart(text=_tell(tools, is_required=is_required)))
        answer: JsonObject = {"type": "string"}
        if output is not None and wants_json:
            answer = output.schema if output.schema is not None else _ANY_OBJECT
        schema = answer_schema(tools, None if is_required else answer)
        output = OutputFormat(type="schema", name="answer", schema=schema, private={DIALECT: {"_own": True}})
    plain = replace(
        request,
        items=_in_words(request.items),
        instructions=told,
        tools=(),
        tool_choice=None,
        parallel_calls=None,
        output=output,
        stream=True,
    )
    encoded = encode_request(plain, profile=_PROFILE)
    return Question(
        body=encoded.body,
        is_held=bool(tools),
        wants_json=wants_json,
        warnings=(*losses.taken(), *encoded.warnings),
    )


def answer_schema(tools: Sequence[FunctionTool], answer: JsonObject | None) -> JsonObject:
    """A call of one of the tools, or, unless a call is required, an answer of the given schema."""
    definitions: JsonObject = {}
    forms: list[JsonValue] = []
    for place, tool in enumerate(tools):
        arguments = _at_home(definitions, f"arguments_{place}", _parameters(tool))
        forms.append(_form(tool={"const": tool.name}, arguments=arguments))
    if answer is not None:
        forms.append(_form(answer=_at_home(definitions, "answer", answer)))
    return {"anyOf": forms, "$defs": definitions}


def read_answer(reply: Reply, question: Question) -> Reply:
    """The reply that the text in our form stands for."""
    text = reply.text
    others = tuple(item for item in reply.items if not isinstance(item, Message))
    value = object_arguments(text)
    reason = reply.finish.reason
    if value is not None and isinstance(value.get("tool"), str):
        raw = dump_text(value.get("arguments", {}))
        item: Item | None = _call(str(value["tool"]), raw, question)
        # Whole JSON was not cut, whatever the runner counted: behind the last brace only blanks can come.
        reason = FinishReason.TOOL_CALLS
    elif value is not None and "answer" in value:
        answer = value["answer"]
        item = say("assistant", answer if isinstance(answer, str) and not question.wants_json else dump_text(answer))
        reason = FinishReason.END
    else:
        item = _cut(text, question)
        if isinstance(item, CallItem) and reason not in (FinishReason.LENGTH, FinishReason.INCOMPLETE):
            reason = FinishReason.MALFORMED_CALL
    items = others if item is None else (*others, item)
    return replace(reply, items=items, finish=Finish(reason=reason, raw=reply.finish.raw))


def _offered(request: ModelRequest, losses: Losses) -> list[FunctionTool]:
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        return []
    tools: list[FunctionTool] = []
    for place, tool in enumerate(request.tools):
        if not isinstance(tool, FunctionTool):
            losses.add_tool(f"tools[{place}]", tool)
        elif choice is None or not choice.names or tool.name in choice.names:
            tools.append(tool)
    return tools


def _parameters(tool: FunctionTool) -> JsonObject:
    if tool.freeform is not None:
        return _FREE_TEXT
    return tool.schema or _ANY_OBJECT


def _tell(tools: Sequence[FunctionTool], *, is_required: bool) -> str:
    lines = ["You can call these tools:"]
    for tool in tools:
        about = f": {tool.description}" if tool.description else ""
        lines.append(f"- {tool.name}{about}\n  arguments: {dump_text(_parameters(tool))}")
    lines.append('To call a tool, answer {"tool": its name, "arguments": {…}}.')
    lines.append("You must call one now." if is_required else 'If you need none, answer {"answer": your text}.')
    return "\n".join(lines)


def _in_words(items: Sequence[Item]) -> tuple[Item, ...]:
    """Calls and results as messages: chat templates of small models know no others."""
    names = names_by_id(items)
    said: list[Item] = []
    for item in items:
        if isinstance(item, CallItem):
            arguments = object_arguments(item.call.raw)
            told: JsonObject = {"tool": item.call.name, "arguments": item.call.raw if arguments is None else arguments}
            said.append(say("assistant", dump_text(told)))
        elif isinstance(item, ResultItem):
            name = names.get(item.call_id) or "the tool"
            title = TextPart(text=f"{name} failed:" if item.failed else f"Result of {name}:")
            said.append(Message(role="user", parts=(title, *item.parts)))
        else:
            said.append(item)
    return tuple(said)


def _form(**members: JsonValue) -> JsonObject:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _at_home(definitions: JsonObject, name: str, schema: JsonObject) -> JsonObject:
    """The schema under a name of its own, and a reference to it; its own references lead there too."""
    definitions[name] = _moved(schema, f"#/$defs/{name}")
    return {"$ref": f"#/$defs/{name}"}


def _moved(node: JsonValue, home: str) -> JsonValue:
    if isinstance(node, list):
        return [_moved(item, home) for item in node]
    if not isinstance(node, dict):
        return node
    moved: JsonObject = {}
    for key, value in node.items():
        if key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/")):
            moved[key] = home + value[1:]
        elif key in _VALUES:
            moved[key] = value
        elif key in _MAPS and isinstance(value, dict):
            moved[key] = {name: _moved(schema, home) for name, schema in value.items()}
        else:
            moved[key] = _moved(value, home)
    return moved


def _call(name: str, raw: str, question: Question, *, complete: bool = True) -> CallItem:
    call_id = derived_id(f"{dump_text(question.body['messages'])}:{name}:{raw}", OPENAI_CHAT_IDS)
    return CallItem(call=ToolCall(call_id=call_id, name=name, raw=raw, origin=ORIGIN), complete=complete)


def _cut(text: str, question: Question) -> Item | None:
    """What can be told from an answer that breaks off: a call that must not run, or the beginning of a text."""
    if found := _CUT_CALL.match(text):
        return _call(str(read_value(found[1])), found[2] or "", question, complete=False)
    found = _CUT_ANSWER.match(text)
    if found is None or not found[1]:
        return None
    if question.wants_json:
        return say("assistant", found[1])
    try:
        return say("assistant", str(read_value(_HALF_ESCAPE.sub(r"\1", found[1]) + '"')))
    except WireError:
        return None
