"""Responses that OpenAI would have stored: kept in the process, the oldest given up first.

Knows their JSON only. A later request that names one is completed with what went before, and then judged like any other.
"""

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.simulator.refusals import objects, text_of


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


def _items(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []
