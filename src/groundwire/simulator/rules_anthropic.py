"""What Anthropic's Messages refuses, as far as tools are concerned; of thinking, `anthropic_thinking` knows."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure
from groundwire.simulator.anthropic_thinking import (
    generation_of,
    is_adaptive_only,
    thinking_of,
    thinking_options,
    thoughts,
    thoughts_kept,
)
from groundwire.simulator.anthropic_turns import turns_of
from groundwire.simulator.members import ANTHROPIC, extra_inputs
from groundwire.simulator.refusals import (
    Asked,
    Rule,
    first_double,
    first_refusal,
    not_found,
    objects,
    placed,
    refuse,
    text_of,
)
from groundwire.simulator.stored import KEPT_BY_THREADS

OLD_VERSION = "2023-06-01"
NEW_VERSION = "2026-10-21"
_VERSIONS = ("2023-01-01", OLD_VERSION, NEW_VERSION)
_ID = re.compile(r"[a-zA-Z0-9_-]+")
MAX_ID = 64
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_SAMPLING = ("temperature", "top_p", "top_k")
_THREADS = "message-threads-"


def check(body: JsonObject, headers: Mapping[str, str], model: str) -> Failure | None:
    return first_refusal(RULES, Asked(body=body, headers=headers, model=model))


def _version(asked: Asked) -> Iterator[Failure]:
    version = asked.headers.get("anthropic-version")
    if not version:
        yield refuse("anthropic-version: header is required")
    elif version not in _VERSIONS:
        yield refuse(f'anthropic-version: "{version}" is not a valid version')


def _required(asked: Asked) -> Iterator[Failure]:
    body = asked.body
    if not text_of(body.get("model")):
        yield refuse("model: Field required")
    limit = body.get("max_tokens")
    if limit is None:
        yield refuse("max_tokens: Field required")
    elif not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        yield refuse("max_tokens: Input should be a valid integer, greater than or equal to 0")


def _thread(asked: Asked) -> Iterator[Failure]:
    """A thread that could be gone on with is put into the body before (`stored`), and looks newly created here."""
    thread = asked.body.get("thread")
    if thread is None:
        return
    if _THREADS not in asked.headers.get("anthropic-beta", ""):
        yield refuse("thread: Extra inputs are not permitted")
    kind = thread.get("type") if isinstance(thread, dict) else None
    if kind not in ("create", "continue"):
        yield refuse("thread: Input tag should be one of 'create', 'continue'")
    if not isinstance(thread, dict) or kind == "create":
        return
    for name in KEPT_BY_THREADS:
        if name in asked.body:
            yield refuse(f"{name}: may not be given when a thread is continued, which keeps what it was created with")
    earlier = thread.get("previous_message_id")
    yield replace(
        not_found(f"thread: no message {earlier} to continue from", code="thread_not_found"), type="not_found_error"
    )


def _messages(asked: Asked) -> Iterator[Failure]:
    messages = asked.body.get("messages")
    if not isinstance(messages, list):
        yield refuse("messages: Field required" if messages is None else "messages: Input should be a valid list")
        return
    if not messages:
        yield refuse("messages: at least one message is required")
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "system":
            name, major, minor = generation_of(asked.model)
            if name and (major, minor) < (4, 8):
                yield refuse(
                    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
                    '"system" as an input message role.'
                )
        elif role not in ("user", "assistant"):
            yield refuse(f"messages.{place}.role: Input should be 'user' or 'assistant'")
    turns = [role for role, _ in turns_of(asked.body) if role != "system"]
    if turns and turns[0] != "user":
        yield refuse('messages: first message must use the "user" role')


def _contents(asked: Asked) -> Iterator[Failure]:
    messages = placed(asked.body.get("messages"))
    for place, message in messages:
        path, content = f"messages.{place}", message.get("content")
        is_last = place == messages[-1][0] and message.get("role") == "assistant"
        if content in ("", []) and not is_last:
            yield refuse(
                f"{path}: all messages must have non-empty content except for the optional final assistant message"
            )
        elif not isinstance(content, (str, list)):
            yield refuse(f"{path}.content: Input should be a valid string or list")
        elif isinstance(content, list):
            yield from _texts(content, f"{path}.content")
            for number, block in placed(content):
                if block.get("type") == "tool_result":
                    yield from _texts(block.get("content"), f"{path}.content.{number}.tool_result")
        elif content and not content.strip():
            yield refuse("messages: text content blocks must contain non-whitespace text")
    yield from _texts(asked.body.get("system"), "system")


def _texts(blocks: Any, path: str) -> Iterator[Failure]:
    for place, block in placed(blocks):
        if block.get("type") != "text":
            continue
        text = block.get("text")
        if not isinstance(text, str):
            yield refuse(f"{path}.{place}.text.text: Field required")
        elif not text:
            yield refuse(f"{path.split('.', maxsplit=1)[0]}: text content blocks must be non-empty")
        elif not text.strip():
            yield refuse(f"{path.split('.', maxsplit=1)[0]}: text content blocks must contain non-whitespace text")


def _ending(asked: Asked) -> Iterator[Failure]:
    """A last word put into the model's mouth."""
    turns = turns_of(asked.body)
    if not turns or turns[-1][0] != "assistant" or not turns[-1][1]:
        return
    last = turns[-1][1][-1]
    if last.get("type") == "text":
        name, major, minor = generation_of(asked.model)
        if name and ((major, minor) >= (4, 6) or name in ("fable", "mythos")):
            yield refuse(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        if text_of(last.get("text")) != text_of(last.get("text")).rstrip():
            yield refuse("messages: final assistant content cannot end with trailing whitespace")


def _calls(asked: Asked) -> Iterator[Failure]:
    found = []
    for place, message in placed(asked.body.get("messages")):
        for number, block in placed(message.get("content")):
            kind, path = block.get("type"), f"messages.{place}.content.{number}"
            if kind == "tool_use":
                if message.get("role") != "assistant":
                    yield refuse(f"{path}: `tool_use` blocks can only be in `assistant` messages")
                yield from _id(block.get("id"), f"{path}.tool_use.id")
                if not _TOOL_NAME.fullmatch(text_of(block.get("name"))):
                    yield refuse(f"{path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
                if not isinstance(block.get("input"), dict):
                    yield refuse(f"{path}.tool_use.input: Input should be a valid dictionary")
                found.append(text_of(block.get("id")))
            elif kind == "tool_result":
                if message.get("role") != "user":
                    yield refuse(f"{path}: `tool_result` blocks can only be in `user` messages")
                yield from _id(block.get("tool_use_id"), f"{path}.tool_result.tool_use_id")
    double = first_double(found)
    if double is not None:
        yield refuse(f"messages: `tool_use` ids must be unique ({double})")


def _id(value: Any, path: str) -> Iterator[Failure]:
    text = text_of(value)
    if not text:
        yield refuse(f"{path}: Field required")
    elif not _ID.fullmatch(text):
        yield refuse(f"{path}: String should match pattern '^[a-zA-Z0-9_-]+$'")
    elif len(text) > MAX_ID:
        yield refuse(f"{path}: String should have at most {MAX_ID} characters")


def _pairing(asked: Asked) -> Iterator[Failure]:
    turns = turns_of(asked.body)
    for place, (_, blocks) in enumerate(turns):
        called = _ids(blocks, "tool_use", "id")
        following = turns[place + 1][1] if place + 1 < len(turns) else []
        leading = _leading_results(following)
        missing = [call_id for call_id in called if call_id not in leading]
        if missing:
            yield refuse(
                f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
                "message."
            )
        before = _ids(turns[place - 1][1], "tool_use", "id") if place else []
        results = _ids(blocks, "tool_result", "tool_use_id")
        for call_id in results:
            if call_id not in before:
                yield refuse(
                    f"messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
        double = first_double(results)
        if double is not None:
            yield refuse(
                f"messages.{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with "
                f"id: {double}"
            )


def _ids(blocks: list[dict[str, Any]], kind: str, member: str) -> list[str]:
    return [text_of(block.get(member)) for block in blocks if block.get("type") == kind]


def _leading_results(blocks: list[dict[str, Any]]) -> list[str]:
    """The results at the beginning: what comes behind other content does not count."""
    found = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        found.append(text_of(block.get("tool_use_id")))
    return found


def _tools(asked: Asked) -> Iterator[Failure]:
    tools = asked.body.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield refuse("tools: Input should be a valid list")
    for place, tool in placed(tools):
        if text_of(tool.get("type")) not in ("", "custom"):
            continue  # the provider's own
        path = f"tools.{place}.custom"
        if not _TOOL_NAME.fullmatch(text_of(tool.get("name"))):
            yield refuse(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        yield from _schema(tool.get("input_schema"), f"{path}.input_schema")
    double = first_double(text_of(tool.get("name")) for tool in objects(tools))
    if double is not None:
        yield refuse("tools: Tool names must be unique.")


def _schema(schema: Any, path: str) -> Iterator[Failure]:
    if not isinstance(schema, dict):
        yield refuse(f"{path}: Field required" if schema is None else f"{path}: Input should be a valid dictionary")
        return
    if "type" not in schema:
        yield refuse(f"{path}.type: Field required")
    elif schema["type"] != "object":
        yield refuse(f"{path}.type: Input should be 'object'")
    if any(keyword in schema for keyword in ("oneOf", "allOf", "anyOf")):
        yield refuse(f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not _PROPERTY.fullmatch(name):
            yield refuse(f"{path}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")


def _choice(asked: Asked) -> Iterator[Failure]:
    choice = asked.body.get("tool_choice")
    if not isinstance(choice, dict):
        return
    tools, kind = objects(asked.body.get("tools")), choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        yield refuse("tool_choice: Input tag should be one of 'auto', 'any', 'tool', 'none'")
    if not tools:
        yield refuse("tool_choice: may only be specified while providing tools.")
    if kind not in ("any", "tool"):
        return
    if thinking_of(asked).get("type") == "enabled":
        yield refuse("Thinking may not be enabled when tool_choice forces tool use.")
    if generation_of(asked.model)[0] in ("fable", "mythos"):
        yield refuse(f"tool_choice: forced tool use is not supported by {asked.model}.")
    if kind == "tool" and choice.get("name") not in [tool.get("name") for tool in tools]:
        yield refuse(f"Tool '{choice.get('name')}' not found in provided tools")


def _sampling(asked: Asked) -> Iterator[Failure]:
    is_new = asked.headers.get("anthropic-version") == NEW_VERSION
    for name in _SAMPLING:
        if asked.body.get(name) is None:
            continue
        if is_new:
            yield refuse(f"{name}: this parameter was removed in anthropic-version {NEW_VERSION}")
        elif is_adaptive_only(asked.model):
            yield refuse(f"{name}: this parameter is not supported for {asked.model}")


def _new_version(asked: Asked) -> Iterator[Failure]:
    if asked.headers.get("anthropic-version") != NEW_VERSION:
        return
    for place, message in placed(asked.body.get("messages")):
        for number, block in placed(message.get("content")):
            path = f"messages.{place}.content.{number}"
            if message.get("role") == "assistant" and block.get("type") == "document":
                yield refuse(f"{path}: `document` blocks are not permitted in `assistant` messages")
            if message.get("role") == "user" and block.get("type") == "text" and block.get("citations"):
                yield refuse(f"{path}.text.citations: citations are not permitted in `user` messages")


RULES: tuple[Rule, ...] = (
    _version, _required, extra_inputs(ANTHROPIC), _thread, _messages, _contents, _calls, _pairing, _ending, _tools, _choice, thinking_options, thoughts,
    thoughts_kept, _sampling, _new_version,
)  # fmt: skip
