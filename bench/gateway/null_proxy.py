"""The least that an honest proxy does, on the server and with the client that the gateway uses: JSON in, JSON out.

No keys, no checks, no errors, no records. Run by granian as `null_proxy:application`.
"""

import json
import os
from typing import Any

import orjson
from pyreqwest.client import Client, ClientBuilder

UPSTREAM = os.environ.get("UPSTREAM", "")
_JSON = [("content-type", "application/json")]
_EVENTS = [("content-type", "text/event-stream")]
_client: list[Client] = []


def client() -> Client:
    if not _client:  # on the loop that serves
        _client.append(ClientBuilder().default_headers({"content-type": "application/json"}).build())
    return _client[0]


def to_gemini(body: dict[str, Any]) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    system: list[dict[str, str]] = []
    names: dict[str, str] = {}
    for message in body["messages"]:
        role = message["role"]
        if role == "system":
            system.append({"text": message["content"]})
        elif role == "tool":
            response = {"name": names[message["tool_call_id"]], "response": orjson.loads(message["content"])}
            contents.append({"role": "user", "parts": [{"functionResponse": response}]})
        else:
            parts: list[dict[str, Any]] = [{"text": message["content"]}] if message.get("content") else []
            for call in message.get("tool_calls") or ():
                function = call["function"]
                names[call["id"]] = function["name"]
                parts.append({"functionCall": {"name": function["name"], "args": orjson.loads(function["arguments"])}})
            contents.append({"role": "model" if role == "assistant" else "user", "parts": parts})
    declarations = [
        {
            "name": tool["function"]["name"],
            "description": tool["function"].get("description"),
            "parametersJsonSchema": tool["function"]["parameters"],
        }
        for tool in body.get("tools") or ()
    ]
    generation = {"temperature": body.get("temperature"), "maxOutputTokens": body.get("max_tokens")}
    return {
        "contents": contents,
        "systemInstruction": {"parts": system},
        "tools": [{"functionDeclarations": declarations}],
        "generationConfig": generation,
    }


def _message(candidate: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for place, part in enumerate(candidate["content"]["parts"]):
        if "functionCall" in part:
            call = part["functionCall"]
            function = {"name": call["name"], "arguments": json.dumps(call["args"])}
            made = {"index": place, "id": f"call_{place}", "type": "function", "function": function}
            message.setdefault("tool_calls", []).append(made)
        elif part.get("text"):
            message["content"] = (message["content"] or "") + part["text"]
    return message


def to_chat(answer: dict[str, Any]) -> dict[str, Any]:
    (candidate,) = answer["candidates"]
    usage = answer["usageMetadata"]
    return {
        "id": answer["responseId"],
        "object": "chat.completion",
        "created": 0,
        "model": answer["modelVersion"],
        "choices": [{"index": 0, "message": _message(candidate), "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": usage["promptTokenCount"], "completion_tokens": usage["candidatesTokenCount"]},
    }


def to_chunk(event: bytes) -> bytes:
    answer = orjson.loads(event)
    (candidate,) = answer["candidates"]
    choice = {"index": 0, "delta": _message(candidate), "finish_reason": candidate.get("finishReason")}
    named = {"id": answer["responseId"], "object": "chat.completion.chunk", "model": answer["modelVersion"]}
    return b"data: %b\n\n" % orjson.dumps({**named, "created": 0, "choices": [choice]})


async def application(_scope: Any, protocol: Any) -> None:
    body = orjson.loads(await protocol())
    wanted = orjson.dumps(to_gemini(body))
    base = f"{UPSTREAM}/v1beta/models/{body['model']}"
    if not body.get("stream"):
        response = await client().post(f"{base}:generateContent").body_bytes(wanted).build().send()
        protocol.response_bytes(200, _JSON, orjson.dumps(to_chat(orjson.loads(bytes(await response.bytes())))))
        return
    stream = protocol.response_stream(200, _EVENTS)
    request = client().post(f"{base}:streamGenerateContent?alt=sse").body_bytes(wanted)
    waiting = b""
    async with request.streamed_read_buffer_limit(1).build_streamed() as answer:
        while (chunk := await answer.body_reader.read_chunk()) is not None:
            waiting += bytes(chunk)
            *events, waiting = waiting.split(b"\r\n\r\n")
            if events:
                await stream.send_bytes(b"".join([to_chunk(event[6:]) for event in events]))
    await stream.send_bytes(b"data: [DONE]\n\n")
