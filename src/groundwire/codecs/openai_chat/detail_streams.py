"""`reasoning_details` that come in fragments, put together as the whole response would have had them."""

from typing import Any

from groundwire.codecs.wire.gathering import GrowingTexts
from groundwire.contracts.canonical import JsonObject

_READABLE = ("reasoning.text", "reasoning.summary")
_TEXTS = ("text", "summary")


class DetailCollector:
    """Fragments of one readable detail are joined; each encrypted one stays as it came."""

    __slots__ = ("_details", "_texts")

    def __init__(self) -> None:
        self._details: list[Any] = []
        self._texts = GrowingTexts()

    def feed(self, details: list[Any]) -> None:
        for detail in details:
            last = self._details[-1] if self._details else None
            if isinstance(last, dict) and isinstance(detail, dict) and _goes_on(last, detail):
                self._join(last, detail)
            else:
                self._settle()
                self._details.append(dict(detail) if isinstance(detail, dict) else detail)

    def whole(self) -> list[Any]:
        self._settle()
        return self._details

    def _join(self, last: JsonObject, detail: JsonObject) -> None:
        for name, value in detail.items():
            if name in _TEXTS:
                if value:
                    self._texts.add(last, name, str(value))
            elif value is not None:
                last[name] = value

    def _settle(self) -> None:
        if self._details and isinstance(self._details[-1], dict):
            self._texts.settle(self._details[-1])


def _goes_on(last: JsonObject, detail: JsonObject) -> bool:
    kind = detail.get("type")
    return kind in _READABLE and last.get("type") == kind and last.get("index") == detail.get("index")
