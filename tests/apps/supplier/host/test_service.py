"""The service over HTTP: every route, and an answer with a name for whatever is sent to it."""

import base64
import json

import pytest

from groundwire.apps.supplier.contracts import as_json
from tests.apps.supplier.stage import REQUEST

SR = as_json(REQUEST)
ONE = f"/conversations/{REQUEST.session_id}"
SAID = [{"role": "bot", "content": "您好"}, {"role": "supplier", "content": "200个起，单价6.5"}]
ROUTES = ("/conversations", f"{ONE}/messages", "/handle-incoming-message", "/handle-conversation-end")


async def asked(client, method, path, **options):
    response = await client.request(method, path, **options)
    return response.status_code, response.json()


@pytest.mark.requirement("A-098", "A-134", "A-135", "OQ-07")
async def test_a_host_of_its_own_sends_a_history_and_gets_reply_calls_status_and_history(client):
    status, answer = await asked(client, "POST", "/handle-incoming-message", json={"sr": SR, "history": SAID})
    assert (status, sorted(answer)) == (200, ["history", "reply", "status", "toolCalls"])
    assert [(call["turn"], call["name"], call["args"]) for call in answer["toolCalls"]] == [
        (2, "log_data", {"goalId": "moq", "value": "200", "supplierQuote": "200个起"}),
        (2, "log_data", {"goalId": "unit_price", "value": "6.5", "supplierQuote": "单价6.5"}),
    ]
    assert answer["history"][:2] == SAID
    assert answer["history"][2]["content"] == answer["reply"] != ""
    assert (await asked(client, "GET", "/conversations"))[1]["items"] == []


@pytest.mark.requirement("A-098", "A-137", "A-138", "OQ-07")
async def test_a_finished_history_gives_a_summary_signals_and_calls_and_nothing_is_kept(client):
    history = [SAID[0], {"role": "supplier", "content": "这款停产了，您问问别家吧"}]
    body = {"sr": SR, "history": history, "botToolTrace": [], "status": "rejected"}
    status, answer = await asked(client, "POST", "/handle-conversation-end", json=body)
    assert (status, sorted(answer)) == (200, ["signals", "summaryText", "toolCalls"])
    (signal,) = answer["signals"]
    assert (signal["signalType"], signal["severity"]) == ("human_escalation", "high")
    assert (await asked(client, "GET", "/conversations"))[1]["items"] == []


@pytest.mark.requirement("A-098", "A-139", "A-141", "OQ-07")
async def test_a_conversation_is_begun_answered_listed_ended_and_shown(client):
    assert (await asked(client, "POST", "/conversations", json={"sr": SR}))[0] == 200
    message = {"messageId": "m1", "content": "200个起"}
    _, answered = await asked(client, "POST", f"{ONE}/messages?wait=60", json=message)
    assert [entry["role"] for entry in answered["history"]] == ["bot", "supplier", "bot"]
    assert (await asked(client, "POST", f"{ONE}/messages?wait=60", json=message))[1]["history"] == answered["history"]
    assert (await asked(client, "POST", f"{ONE}/end"))[1]["status"] == "completed"
    _, listed = await asked(client, "GET", "/conversations?status=completed")
    assert ([one["request"] for one in listed["items"]], listed["next"]) == ([SR], None)
    assert (await asked(client, "GET", "/conversations?status=rejected"))[1]["items"] == []


async def test_a_name_that_is_taken_is_a_conflict(client):
    await asked(client, "POST", "/conversations", json={"sr": SR})
    status, answer = await asked(client, "POST", "/conversations", json={"sr": SR | {"item": "杯子"}})
    assert (status, answer["error"]["code"]) == (409, "name_taken")


@pytest.mark.requirement("A-098")
async def test_every_route_is_described(client):
    described = json.loads((await client.get(str(client.base_url.copy_with(path="/openapi.json")))).content)
    paths = {path: set(methods) for path, methods in described["paths"].items() if path.startswith("/api/supplier")}
    assert paths == {
        "/api/supplier/conversations": {"get", "post"},
        "/api/supplier/conversations/{sessionId}": {"get"},
        "/api/supplier/conversations/{sessionId}/messages": {"post"},
        "/api/supplier/conversations/{sessionId}/end": {"post"},
        "/api/supplier/handle-incoming-message": {"post"},
        "/api/supplier/handle-conversation-end": {"post"},
    }


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "body", [b"", b"{", b"null", b"[]", b"\xff\xfe", b"\x00", b"[" * 50_000, b'{"x": NaN}', b'{"sr": {"qty": []}}']
)
async def test_any_bytes_have_a_named_answer(small_client, path, body):
    status, answer = await asked(small_client, "POST", path, content=body)
    assert (status in {400, 404}, bool(answer["error"]["code"])) == (True, True)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sessionId", ["", "a\x00", "a\nb", "x" * 257, 7, None]),
        ("item", ["", "x" * 501, 3]),
        ("qty", [0, -1, 1.5, "10", True, 10**9 + 1]),
        ("targetPrice", [-0.1, "x", 1e300]),
        ("notes", ["x" * 4001]),
    ],
)
async def test_a_request_that_cannot_be_meant_is_refused(small_client, name, values):
    for value in values:
        status, answer = await asked(small_client, "POST", "/conversations", json={"sr": SR | {name: value}})
        assert (status, answer["error"]["code"] in {"invalid_body", "config_error"}) == (400, True), (name, value)
    assert (await asked(small_client, "GET", "/conversations"))[1]["items"] == []


@pytest.mark.parametrize("path", ["/handle-incoming-message", "/handle-conversation-end"])
async def test_a_history_that_is_handed_over_has_bounds(small_client, path):
    whole, more = "，" * 20_000, "，" * 20_001
    for contents, expected in (
        ([whole], 200),
        ([more], 400),
        ([whole] * 10, 200),
        ([whole] * 10 + ["x"], 400),
        (["x"] * 2001, 400),
    ):
        history = [{"role": "supplier", "content": content} for content in contents]
        status, _ = await asked(small_client, "POST", path, json={"sr": SR, "history": history})
        assert status == expected, len(history)


async def test_goals_have_names_that_a_tool_can_say(small_client):
    for goal_id in ("", "MOQ", "a b", "\x00", "x" * 65):
        body = {"sr": SR, "goals": [{"goalId": goal_id}]}
        assert (await asked(small_client, "POST", "/conversations", json=body))[0] == 400


@pytest.mark.requirement("A-149", "OQ-01")
async def test_what_comes_in_place_of_a_picture_is_a_token_and_no_error(client):
    await asked(client, "POST", "/conversations", json={"sr": SR})
    odd = [
        {"mediaType": "image/png", "data": "***"},
        {"mediaType": "image/png", "data": "\x00"},
        {"mediaType": "\x00", "data": base64.b64encode(b"GIF89a").decode(), "name": "\x00"},
        {"mediaType": "image/png", "data": base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(5_000_000)).decode()},
        {"mediaType": "text/html", "data": base64.b64encode(b"<html>").decode()},
    ]
    for place, media in enumerate(odd):
        body = {"messageId": f"m{place}", "content": f"[图片] 第{place}张", "media": [media]}
        status, answer = await asked(client, "POST", f"{ONE}/messages?wait=60", json=body)
        assert (status, answer["history"][-1]["role"]) == (200, "bot"), media["mediaType"]
    assert "data" not in json.dumps(answer["history"])


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"])
async def test_times_at_the_ends_of_all_calendars_are_as_good_as_none(small_client, moment):
    history = [SAID[0], {"role": "supplier", "content": "明天给你回复", "timestamp": moment}]
    for path in ("/handle-incoming-message", "/handle-conversation-end"):
        assert (await asked(small_client, "POST", path, json={"sr": SR, "history": history}))[0] == 200


@pytest.mark.parametrize("session", ["none", "%00", "x" * 300, "%ff"])
async def test_what_nobody_has_begun_is_not_found(client, session):
    message = {"messageId": "m1", "content": "在的"}
    answers = [
        await asked(client, "GET", f"/conversations/{session}"),
        await asked(client, "POST", f"/conversations/{session}/end"),
        await asked(client, "POST", f"/conversations/{session}/messages", json=message),
    ]
    assert [(status, answer["error"]["code"]) for status, answer in answers] == [(404, "not_found")] * 3
