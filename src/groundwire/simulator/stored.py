"""What the vendors would have stored, OpenAI's responses and Anthropic's threads: kept in the process, the oldest given up first.

Knows their JSON only. A later request that names one is completed with what went before, and then judged like any other.
"""

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.simulator.refusals import objects, text_of

KEPT_BY_THREADS = ("system", "tools")
"""What a thread is created with, and a request that continues it may not give again."""


class _Stored(Struct, frozen=True):
    items: list[Any]
    body: JsonObject


class StoredResponses:
    """At most `keep` of them."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._found: OrderedDict[str, _Stored] = OrderedDict()

    def completed(self, body: JsonObject) -> JsonObject:
        """The request with what it refers to in its place; what is not known here stays as it is."""
        body = {"store": True, **body}
        given = _items(body.get("input"))
        items = [self._item(item) for item in given]
        earlier = self._found.get(text_of(body.get("previous_response_id")))
        if earlier is None or body.get("conversation") is not None:
            return body if items == given else {**body, "input": items}
        rest = {name: value for name, value in body.items() if name != "previous_response_id"}
        return {**rest, "input": [*earlier.items, *items]}

    def keep(self, request: JsonObject, response: JsonObject) -> None:
        """Remember a response with everything that led to it, unless the request forbids it."""
        if request.get("store") is False or self._keep <= 0:
            return
        items = [*_items(request.get("input")), *objects(response.get("output"))]
        self._found[text_of(response.get("id"))] = _Stored(items, response)
        while len(self._found) > self._keep:
            self._found.popitem(last=False)

    def body(self, response_id: str) -> JsonObject | None:
        found = self._found.get(response_id)
        return None if found is None else found.body

    def forget(self, response_id: str) -> None:
        self._found.pop(response_id, None)

    def _item(self, item: Any) -> Any:
        if not isinstance(item, dict) or item.get("type") != "item_reference":
            return item
        for stored in reversed(self._found.values()):
            for known in stored.items:
                if isinstance(known, dict) and known.get("id") == item.get("id"):
                    return known
        return item


class StoredThreads:
    """At most `keep` replies that a thread can go on from, each with the request that led to it."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._found: OrderedDict[str, JsonObject] = OrderedDict()

    def completed(self, body: JsonObject) -> JsonObject:
        """The request with its whole thread, as one that creates it; left as it is where that cannot be done."""
        thread, messages = body.get("thread"), body.get("messages")
        if not isinstance(thread, dict) or thread.get("type") != "continue" or not isinstance(messages, list):
            return body
        earlier = self._found.get(text_of(thread.get("previous_message_id")))
        if earlier is None or any(name in body for name in KEPT_BY_THREADS):
            return body
        kept = {name: earlier[name] for name in KEPT_BY_THREADS if name in earlier}
        return {**kept, **body, "messages": [*objects(earlier["messages"]), *messages], "thread": {"type": "create"}}

    def keep(self, request: JsonObject, response: JsonObject) -> None:
        """Remember a reply with everything that led to it, if the request is one of a thread."""
        if request.get("thread") is None:
            return
        messages: list[JsonValue] = [*objects(request.get("messages"))]
        if response.get("content"):
            messages.append({"role": "assistant", "content": response["content"]})
        self._found[text_of(response.get("id"))] = {**request, "messages": messages}
        while len(self._found) > self._keep:
            self._found.popitem(last=False)


def _items(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []
