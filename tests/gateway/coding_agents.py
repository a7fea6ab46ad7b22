"""What command-line coding agents send, by the shape of it: sizes, headers, and fields that no document lists.

Written by hand after watching four of them; no text is theirs. Each agent says where it posts, with which headers, how
it begins a conversation, and how it goes on from an answer.
"""

import json
from typing import ClassVar

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.replies import ReplyEnded

FILES = ["a.txt", "b.txt"]
READ = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where the file is."},
        "offset": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
        "mode": {"anyOf": [{"const": "text"}, {"const": "binary"}], "default": "text"},
        "filters": {"type": "array", "items": {"type": "object", "propertyNames": {"type": "string"}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
EDIT = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}},
    "required": ["path", "old", "new"],
}


def long_text(topic, size):
    """A text of about so many characters, as instructions are."""
    sentence = f"When you work on {topic}, say what you are about to do — and only then do it. "
    return sentence * (size // len(sentence) + 1)


def named_tools(count):
    """Names, descriptions and schemas of dozens of tools; the first reads files."""
    yield "read_file", long_text("files", 2400), READ
    for number in range(count - 1):
        yield f"tool_{number}", long_text(f"tool {number}", 2400), EDIT


def read(dialect, body):
    """The answer that a stream of events is."""
    decoder = codec_of(dialect).StreamDecoder()
    parts = [*decoder.feed(body), *decoder.finish()]
    return next(part.reply for part in parts if isinstance(part, ReplyEnded))


def events(body):
    """The JSON of each server-sent event."""
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]


class AnthropicAgent:
    """Beta query and headers, caching marks everywhere, a system message amid the conversation, thoughts adaptive."""

    dialect = "anthropic"
    path = "/v1/messages?beta=true"
    headers: ClassVar = {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "agent-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27",
        "anthropic-dangerous-direct-browser-access": "true",
        "x-api-key": "dummy",
        "x-app": "cli",
        "x-stainless-lang": "js",
        "x-stainless-retry-count": "0",
        "x-stainless-timeout": "600",
        "accept": "application/json",
        "accept-encoding": "gzip, deflate, br, zstd",
        "user-agent": "agent-cli/2.1 (external, sdk-cli)",
    }

    def first(self, model):
        aside = {"role": "system", "content": long_text("helpers that you may start", 3000)}
        cached = {"cache_control": {"type": "ephemeral"}}
        said = [
            {"type": "text", "text": "<reminder>Today is a day.</reminder>"},
            {"type": "text", "text": "Read both."},
        ]
        return {
            "model": model,
            "messages": [
                {"role": "user", "content": said},
                *([] if "claude" in model else [aside]),  # as it does for models that it does not know
            ],
            "system": [
                {"type": "text", "text": "x-billing: version=2"},
                {"type": "text", "text": long_text("code", 20_000), **cached},
                {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            ],
            "tools": [
                {"name": name, "description": text, "input_schema": schema} for name, text, schema in named_tools(24)
            ],
            "metadata": {"user_id": '{"device_id":"d","account_uuid":"","session_id":"s"}'},
            "max_tokens": 32000,
            "thinking": {"type": "adaptive"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "high"},
            "stream": True,
        }

    def second(self, first, body):
        blocks = {}
        for event in events(body):
            if event["type"] == "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "_json": ""}
            elif event["type"] == "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                block["_json"] += delta.get("partial_json", "")
                for name in ("text", "thinking", "signature"):
                    if name in delta:
                        block[name] += delta[name]
        content = [
            {**{key: value for key, value in block.items() if key != "_json"}, **_input(block)}
            for block in blocks.values()
        ]
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        results = [{"tool_use_id": call_id, "type": "tool_result", "content": "1\tcontents"} for call_id in calls]
        results[-1]["cache_control"] = {"type": "ephemeral"}
        turns = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        return {**first, "messages": [*first["messages"], *turns]}


def _input(block):
    return {"input": json.loads(block["_json"] or "{}")} if block["type"] == "tool_use" else {}


class ResponsesAgent:
    """Nothing kept, thoughts as ciphertext, developer messages, tools of every kind, metadata of the client's own."""

    dialect = "openai-responses"
    path = "/v1/responses"
    headers: ClassVar = {
        "authorization": "Bearer dummy",
        "accept": "text/event-stream",
        "originator": "agent_exec",
        "session-id": "01a1e34a",
        "x-agent-turn-metadata": '{"turn_id":"01a1"}',
    }
    patch_grammar: ClassVar = {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" /.+/'}

    def first(self, model):
        functions = [
            {"type": "function", "name": name, "description": text, "strict": False, "parameters": schema}
            for name, text, schema in named_tools(16)
        ]
        return {
            "model": model,
            "stream": True,
            "input": [
                _message("developer", long_text("code", 8000), long_text("permissions", 2000)),
                _message("user", "<environment><cwd>/work</cwd></environment>"),
                _message("user", "Read both."),
            ],
            "tools": [
                *functions,
                {"type": "custom", "name": "apply_patch", "description": "Edit files.", "format": self.patch_grammar},
                {"type": "namespace", "name": "helpers", "description": "Helpers.", "tools": [_plain("spawn")]},
                {"type": "namespace", "name": "mcp__web", "description": "The web.", "tools": [_plain("search")]},
                {"type": "namespace", "name": "mcp__kb", "description": "Notes.", "tools": [_plain("search")]},
                {"type": "web_search", "external_web_access": True},
            ],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": "medium", "summary": "auto"},
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "01a1e34a",
            "text": {"verbosity": "low"},
            "client_metadata": {"session_id": "01a1e34a", "x-agent-turn-metadata": '{"turn_id":"01a1"}'},
        }

    def second(self, first, body):
        items = [event["item"] for event in events(body) if event["type"] == "response.output_item.done"]
        results = []
        for item in items:
            if item["type"] in ("function_call", "custom_tool_call"):
                kind = f"{item['type']}_output"
                results.append({"type": kind, "id": f"o_{item['call_id']}", "call_id": item["call_id"], "output": "ok"})
        return {**first, "input": [*first["input"], *items, *results]}


def _message(role, *texts):
    parts = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "id": f"msg_{len(texts[0])}", "role": role, "content": parts}


def _plain(name):
    return {"type": "function", "name": name, "description": "d", "strict": False, "parameters": EDIT}


class GeminiAgent:
    """Parts in several texts, schemas as JSON Schema, thoughts included; signatures go back on the calls."""

    dialect = "gemini"
    path = "/v1beta/models/{model}:streamGenerateContent?alt=sse"
    headers: ClassVar = {
        "x-goog-api-key": "dummy",
        "x-goog-api-client": "google-genai-sdk/1.30.0 gl-node/v22",
        "accept-encoding": "gzip, deflate",
        "sec-fetch-mode": "cors",
    }

    def first(self, model):
        declared = [
            {"name": name, "description": text, "parametersJsonSchema": schema}
            for name, text, schema in named_tools(15)
        ]
        return {
            "contents": [
                {"role": "user", "parts": [{"text": "<session>On a terminal.</session>"}, {"text": "Read both."}]}
            ],
            "systemInstruction": {"role": "user", "parts": [{"text": long_text("code", 20_000)}]},
            "tools": [{"functionDeclarations": declared}],
            "generationConfig": {
                "temperature": 1,
                "topP": 0.95,
                "topK": 64,
                "thinkingConfig": {"includeThoughts": True},
            },
        }

    def second(self, first, body):
        parts = [part for event in events(body) for part in event["candidates"][0].get("content", {}).get("parts", [])]
        kept = [part for part in parts if not part.get("thought")]
        calls = [part["functionCall"] for part in kept if "functionCall" in part]
        results = [
            {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "contents"}}}
            for call in calls
        ]
        turns = [{"role": "model", "parts": kept}, {"role": "user", "parts": results}]
        return {**first, "contents": [*first["contents"], *turns]}


class ChatAgent:
    """The older name of the limit, usage within the stream, and thoughts sent back as `reasoning_content`."""

    dialect = "openai-chat"
    path = "/v1/chat/completions"
    headers: ClassVar = {
        "authorization": "Bearer dummy",
        "x-session-affinity": "ses_1",
        "accept-encoding": "gzip, deflate, br, zstd",
    }

    def first(self, model):
        return {
            "model": model,
            "max_tokens": 8000,
            "messages": [
                {"role": "system", "content": long_text("code", 20_000)},
                {"role": "user", "content": "Read both."},
            ],
            "tools": [
                {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}
                for name, text, schema in named_tools(12)
            ],
            "tool_choice": "auto",
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def second(self, first, body):
        said, calls = {"role": "assistant", "content": "", "reasoning_content": ""}, {}
        for event in events(body):
            for choice in event["choices"]:
                for name in ("content", "reasoning_content"):
                    said[name] += choice["delta"].get(name) or ""
                for piece in choice["delta"].get("tool_calls") or []:
                    call = calls.setdefault(piece["index"], {"id": piece.get("id"), "name": "", "arguments": ""})
                    call["name"] += piece["function"].get("name") or ""
                    call["arguments"] += piece["function"].get("arguments") or ""
        said["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls.values()
        ]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "contents"} for call in calls.values()]
        return {**first, "messages": [*first["messages"], said, *results]}


AGENTS = [AnthropicAgent(), ResponsesAgent(), GeminiAgent(), ChatAgent()]
