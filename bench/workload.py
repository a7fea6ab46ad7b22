"""The work that is measured: one tool with four parameters, other arguments for every call."""

import json
from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "priority": {"type": "string", "enum": ["low", "normal", "high"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 1000},
        "customer": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "email": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["id", "email"],
            "additionalProperties": False,
        },
    },
    "required": ["title", "priority", "count", "customer"],
    "additionalProperties": False,
}

PRIORITIES = ("low", "normal", "high")


def arguments(index: int) -> dict[str, Any]:
    return {
        "title": f"Printer {index} on fire",
        "priority": PRIORITIES[index % 3],
        "count": index % 1000,
        "customer": {"id": f"c-{index}", "email": "a@example.org", "tags": ["vip", "eu"]},
    }


def argument_texts(count: int, start: int = 0) -> list[str]:
    return [json.dumps(arguments(index)) for index in range(start, start + count)]


class Counter:
    """Counts what the tool really did, so that a benchmark cannot measure a call that never happened."""

    def __init__(self) -> None:
        self.calls = 0

    async def create_ticket(self, title: str, priority: str, count: int, customer: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return {"ok": True, "id": f"T-{count}"}
