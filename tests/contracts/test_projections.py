import json

import pytest
from inline_snapshot import snapshot

from groundwire import ToolCall
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.intents import Intent
from groundwire.contracts.projections import flat_view, listing_view, model_view, response_view, result_item
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, Meta, ToolResult

META = Meta(call_id="c1", registry_version="1.0.aaaaaaaa", session_id="s1")
SUCCESS = ToolResult.success({"hits": [1]}, warnings=("slow",), intents=(Intent(type="SUPPRESS_AUDIO"),), meta=META)
FAILURE = ToolResult(
    ok=False,
    errors=(
        ErrorInfo(type=ErrorType.VALIDATION, message="bad", detail="TYPE_MISMATCH"),
        ErrorInfo(type=ErrorType.VALIDATION, message="worse"),
    ),
    meta=META,
)


@pytest.mark.requirement("X-02", "B-108", "B-109")
def test_the_response_view_has_the_two_documented_shapes():
    assert list(response_view(SUCCESS)) == ["ok", "data", "intents", "meta"]
    assert list(response_view(FAILURE)) == ["ok", "error", "meta"]
    assert response_view(FAILURE)["error"]["type"] == "VALIDATION"
    assert list(response_view(SUCCESS)["intents"]) == [{"type": "SUPPRESS_AUDIO", "payload": {}}]


@pytest.mark.requirement("X-02", "X-03", "C-029", "OQ-26")
def test_the_listing_view_takes_its_code_from_the_detail_else_from_the_type():
    assert listing_view(SUCCESS) == snapshot({"ok": True, "data": {"hits": [1]}, "warnings": ["slow"], "errors": []})
    assert listing_view(FAILURE) == snapshot(
        {
            "ok": False,
            "data": None,
            "warnings": [],
            "errors": [{"code": "TYPE_MISMATCH", "message": "bad"}, {"code": "VALIDATION", "message": "worse"}],
        }
    )


@pytest.mark.requirement("X-02")
@pytest.mark.parametrize(
    ("result", "view"),
    [
        (SUCCESS, {"hits": [1], "success": True}),
        (FAILURE, {"success": False, "error": "bad"}),
        (ToolResult.success(), {"success": True}),
        (ToolResult.success([1]), {"data": [1], "success": True}),
        (ToolResult.success({"success": "mine", "error": "mine"}), {"success": True, "error": "mine"}),
    ],
)
def test_the_flat_view_puts_the_fields_of_the_data_beside_the_outcome(result, view):
    assert flat_view(result) == view


@pytest.mark.requirement("OQ-26")
def test_a_model_sees_outcome_and_advice_but_nothing_about_approvals_or_sessions():
    waiting = ToolResult.failure(
        ErrorType.CONFIRMATION_REQUIRED,
        "A person must agree.",
        meta=Meta(call_id="c", confirmation=ConfirmationNotice(id="cnf_1", expires_at="t")),
    )
    assert set(model_view(waiting)) == {"ok", "error"}
    assert "cnf_1" not in str(model_view(waiting))
    assert model_view(SUCCESS) == {"ok": True, "data": {"hits": [1]}, "warnings": ["slow"]}
    assert len(model_view(FAILURE)["errors"]) == 2


@pytest.mark.parametrize(("result", "failed"), [(SUCCESS, False), (FAILURE, True)])
def test_a_model_is_told_the_result_under_the_id_of_its_own_call(result, failed):
    item = result_item(ToolCall(call_id="call_7", name="search", raw="{}"), result)
    assert (item.call_id, item.name, item.failed) == ("call_7", "search", failed)
    assert json.loads(item.text) == json.loads(json.dumps(model_view(result)))
