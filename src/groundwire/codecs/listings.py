"""Models as each dialect lists them. Knows their names only."""

from collections.abc import Sequence

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.requests import Dialect


def models_body(dialect: Dialect, models: Sequence[str], *, created: int, owner: str) -> JsonObject:
    entries: list[JsonValue] = [model_body(dialect, model, created=created, owner=owner) for model in models]
    if dialect == "gemini":
        return {"models": entries}
    if dialect == "anthropic":
        return {
            "data": entries,
            "has_more": False,
            "first_id": models[0] if models else None,
            "last_id": models[-1] if models else None,
        }
    return {"object": "list", "data": entries}


def model_body(dialect: Dialect, model: str, *, created: int, owner: str) -> JsonObject:
    if dialect == "gemini":
        methods: list[JsonValue] = ["generateContent", "countTokens", "bidiGenerateContent"]
        return {"name": f"models/{model}", "version": "1", "displayName": model, "supportedGenerationMethods": methods}
    if dialect == "anthropic":
        return {"type": "model", "id": model, "display_name": model, "created_at": "2026-01-01T00:00:00Z"}
    return {"id": model, "object": "model", "created": created, "owned_by": owner}
