"""The other shapes that callers know of an envelope, each derived from the one ToolResult."""

from typing import Any

import msgspec
from msgspec import UNSET

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.messages import ResultItem, TextPart
from groundwire.contracts.results import ToolResult

JOB_MARK = "groundwire.job"
"""What a result that is a job's handle carries for us. It is no dialect's, so it is sent to nobody."""


def model_view(result: ToolResult) -> JsonObject:
    """What a model is shown: outcome and advice, nothing about approvals, sessions or versions."""
    view: dict[str, Any] = {"ok": result.ok}
    if result.ok:
        view["data"] = result.data
    if result.error is not None:
        view["error"] = msgspec.to_builtins(result.error)
    if len(result.errors) > 1:
        view["errors"] = msgspec.to_builtins(result.errors)
    if result.warnings:
        view["warnings"] = list(result.warnings)
    return view


def result_item(call: ToolCall, result: ToolResult, view: JsonObject | None = None) -> ResultItem:
    """The result as the next request tells it to the model that made the call: its model view, unless another is given."""
    text = dump_json(model_view(result) if view is None else view).decode()
    item = ResultItem(call_id=call.call_id, name=call.name, parts=(TextPart(text=text),), failed=not result.ok)
    if result.meta.job is UNSET:
        return item
    return msgspec.structs.replace(item, private={JOB_MARK: {"id": result.meta.job}})


def response_view(result: ToolResult) -> JsonObject:
    """{ok, data, intents, meta} on success, {ok, error, meta} on failure."""
    full = msgspec.to_builtins(result)
    names = ("ok", "data", "intents", "meta") if result.ok else ("ok", "error", "meta")
    return {name: full[name] for name in names}


def listing_view(result: ToolResult) -> JsonObject:
    """{ok, data, warnings, errors[{code, message}]}: the code is the detail where there is one, else the type."""
    errors: list[Any] = [
        {"code": error.detail or error.type.value, "message": error.message} for error in result.errors
    ]
    return {"ok": result.ok, "data": result.data, "warnings": list(result.warnings), "errors": errors}


def flat_view(result: ToolResult) -> JsonObject:
    """{success, …data, error?}: the data's own fields beside the outcome."""
    view: dict[str, Any] = dict(result.data) if isinstance(result.data, dict) else {}
    if result.data is not None and not isinstance(result.data, dict):
        view["data"] = result.data
    view["success"] = result.ok
    if result.error is not None:
        view["error"] = result.error.message
    return view
