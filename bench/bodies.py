"""A realistic request and its answer: five tools, ten messages with one call and its result, about 6.7 KB of JSON."""

import json

_PARAGRAPH = (
    "The guest booked two rooms for the same night; the first confirmation arrived at once, the second is still open "
    "after three days. She would like to know whether the second room is held for her, what changing both bookings to "
    "one suite would cost, and until when either of them can be cancelled without a fee. "
)


def _object(properties: dict[str, object], required: list[str]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required}


def _text(description: str, **more: object) -> dict[str, object]:
    return {"type": "string", "description": description, **more}


_TOOLS: list[tuple[str, str, dict[str, object]]] = [
    (
        "get_booking",
        "Look up one booking with its rooms, guests and payments.",
        _object(
            {
                "booking_id": _text("Number as printed on the confirmation, such as B-20931"),
                "include": {
                    "type": "array",
                    "items": _text("Section", enum=["rooms", "guests", "payments", "notes"]),
                    "description": "Which sections to return",
                },
                "locale": _text("Language tag of the guest"),
            },
            ["booking_id"],
        ),
    ),
    (
        "find_rooms",
        "Free rooms of a house in a period, cheapest first.",
        _object(
            {
                "house": _text("House code", enum=["harbour", "park", "station", "old-town", "airport"]),
                "from_date": _text("First night, YYYY-MM-DD"),
                "nights": {"type": "integer", "minimum": 1, "maximum": 60, "description": "Number of nights"},
            },
            ["house", "from_date"],
        ),
    ),
    (
        "check_rates",
        "Rates of room categories per season, with the next change.",
        _object(
            {
                "categories": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "description": "Category codes",
                },
                "season": _text("Season", enum=["winter", "spring", "summer", "autumn", "festival"]),
                "hold": {"type": "boolean", "description": "Hold the rate for 15 minutes"},
            },
            ["categories"],
        ),
    ),
    (
        "change_booking",
        "Change some rooms of a booking to others.",
        _object(
            {
                "booking_id": _text("Booking number"),
                "rooms": {
                    "type": "array",
                    "description": "Rooms to change",
                    "items": _object(
                        {
                            "room": {"type": "integer", "description": "Room number"},
                            "guests": {"type": "integer", "minimum": 1},
                            "reason": _text("Why", enum=["upgrade", "defect", "guest_wish", "overbooked"]),
                        },
                        ["room", "guests", "reason"],
                    ),
                },
                "invoice_to": _object(
                    {
                        "name": {"type": "string"},
                        "street": {"type": "string"},
                        "postcode": {"type": "string"},
                        "city": {"type": "string"},
                        "country": _text("ISO 3166 alpha-2 code"),
                    },
                    ["name", "street", "city", "country"],
                ),
                "express": {"type": "boolean", "description": "Confirm at once"},
            },
            ["booking_id", "rooms"],
        ),
    ),
    (
        "quote_transfer",
        "Price and duration of a transfer between two places.",
        _object(
            {
                "from_place": _text("Start"),
                "to_place": _text("Destination"),
                "luggage_kg": {"type": "number", "minimum": 0.01, "description": "Weight of the luggage"},
                "service": _text("Service level", enum=["shared", "standard", "limousine"]),
            },
            ["from_place", "to_place", "luggage_kg"],
        ),
    ),
]

_ARGUMENTS = json.dumps({"booking_id": "B-20931", "include": ["rooms", "payments"]})
_RESULT = json.dumps(
    {
        "booking_id": "B-20931",
        "status": "partly_confirmed",
        "currency": "EUR",
        "rooms": [
            {"room": n, "category": f"CAT-{1000 + n}", "title": f"Room of category {n}", "guests": n, "price": 79.9 * n}
            for n in range(1, 7)
        ],
        "payments": [
            {"method": "card", "reference": "00340434161094021501", "status": "settled"},
            {"method": "transfer", "reference": "RR123456785DE", "status": "waiting"},
        ],
    }
)


def chat_request(number: int = 0, *, turns: int = 1) -> dict[str, object]:
    """An OpenAI-chat body. `number` varies it, `turns` repeats its conversation."""
    system = f"You are the front desk of a group of houses, session {number:04d}. Answer briefly, use tools for facts. "
    messages: list[dict[str, object]] = [{"role": "system", "content": system + _PARAGRAPH * 2}]
    for turn in range(turns):
        messages += _turn(f"call_a1b2c3_{turn}")
    messages.append(
        {"role": "user", "content": f"[{number:04d}] Please look up the second room and tell me its price."}
    )
    tools = [
        {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
        for name, description, parameters in _TOOLS
    ]
    return {
        "model": "bench",
        "messages": messages,
        "tools": tools,
        "tool_choice": "auto",
        "temperature": 0.2,
        "max_tokens": 1024,
    }


def _turn(call_id: str) -> list[dict[str, object]]:
    function = {"name": "get_booking", "arguments": _ARGUMENTS}
    return [
        {"role": "user", "content": "Hello, I have a question about my booking B-20931."},
        {"role": "assistant", "content": "Of course. What would you like to know?"},
        {"role": "user", "content": _PARAGRAPH},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": _RESULT},
        {"role": "assistant", "content": "The first room is confirmed; the second one is still open. " + _PARAGRAPH},
        {"role": "user", "content": "And could it be that it is gone?"},
        {"role": "assistant", "content": "That is unlikely at this stage. " + _PARAGRAPH},
    ]


def gemini_response() -> dict[str, object]:
    call = {
        "functionCall": {
            "name": "find_rooms",
            "args": {"house": "harbour", "from_date": "2026-12-24", "nights": 2},
        },
        "thoughtSignature": "CpwBAcu98PCk1m0kbench" + "Qm9ndXNUaG91Z2h0U2lnbmF0dXJl" * 22,
    }
    usage = {
        "promptTokenCount": 1873,
        "candidatesTokenCount": 41,
        "totalTokenCount": 2042,
        "thoughtsTokenCount": 128,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1873}],
    }
    return {
        "candidates": [{"content": {"parts": [call], "role": "model"}, "index": 0, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "k3vYaJ2hDp6Wz7IPsdWf0A4",
    }


def gemini_event(text: str) -> dict[str, object]:
    usage = {"promptTokenCount": 1873, "candidatesTokenCount": 41, "totalTokenCount": 1914}
    return {
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "k3vYaJ2hDp6Wz7IPsdWf0A4",
    }
