"""The brain over HTTP: what is proved is kept, once; what is not is refused by name; what came is listed."""

import asyncio
import base64
import json
import sys
import threading
import time
from datetime import UTC, datetime
from typing import get_args

import httpx2 as httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook

from groundwire.apps.supplier.brain.endpoints import MAX_BODY, TypeFilter
from groundwire.apps.supplier.contracts import SignalType
from groundwire.apps.supplier.signals.events import encode_event, webhook_id_of
from groundwire.serving import WebhookKey, sign_webhook
from tests.apps.supplier.brain.conftest import running_brain
from tests.apps.supplier.signals.samples import FOLLOW_UP, KEY, NEW_KEY, signal

NOW = 1_700_000_000


def signed(body, webhook_id="msg_1", *, keys=(KEY,), timestamp=NOW):
    return sign_webhook([WebhookKey(key) for key in keys], webhook_id, timestamp, body)


async def post(client, body, headers=None, **how):
    answer = await client.post("/signals", content=body, headers=signed(body, **how) if headers is None else headers)
    return answer.status_code, answer.json()


async def send(client, sent, webhook_id=""):
    body = encode_event(sent, now=NOW)
    return await post(client, body, webhook_id=webhook_id or webhook_id_of(sent.signal_id))


async def listed(client, **query):
    answer = await client.get("/api/signals", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(page):
    return [item["signalId"] for item in page["items"]]


@pytest.mark.requirement("A-059", "A-144", "A-152", "OQ-02")
async def test_a_signal_that_is_proved_is_acknowledged_and_listed(brain):
    assert await send(brain, FOLLOW_UP) == (
        200,
        {"accepted": ["sig_2"], "rejected": [], "attempts": 1, "deliveredAt": "2023-11-14T22:13:20.000Z"},
    )
    assert await listed(brain) == {
        "items": [
            {
                "signalId": "sig_2",
                "webhookId": webhook_id_of("sig_2"),
                "sessionId": "mes2-01",
                "receivedAt": "2023-11-14T22:13:20.000Z",
                "deliveries": 1,
                "flags": [],
                "signal": json.loads(msgspec.json.encode(FOLLOW_UP)),
            }
        ],
        "next": None,
    }
    assert (await brain.get("/api/signals/sig_2")).json() == (await listed(brain))["items"][0]


@pytest.mark.requirement("A-059")
async def test_the_same_signal_is_kept_once_and_counted_under_whatever_webhook_it_comes(brain):
    for webhook_id in ("msg_a", "msg_a", "msg_b"):
        code, receipt = await send(brain, signal(1), webhook_id)
        assert (code, receipt["accepted"], receipt["rejected"]) == (200, ["sig_1"], [])
    body = encode_event(signal(1), now=NOW)
    event = json.loads(body)
    turned = json.dumps({**event, "data": dict(reversed(event["data"].items()))}).encode()
    assert turned != body
    assert (await post(brain, turned, webhook_id="msg_a"))[1]["accepted"] == ["sig_1"]
    [only] = (await listed(brain))["items"]
    assert (only["signalId"], only["webhookId"], only["deliveries"]) == ("sig_1", "msg_a", 4)


@pytest.mark.requirement("A-059")
@pytest.mark.parametrize(
    ("number", "fields", "webhook_id"),
    [(1, {"reason": "said otherwise"}, "msg_a"), (1, {"reason": "said otherwise"}, "msg_b"), (2, {}, "msg_a")],
)
async def test_another_signal_under_an_id_that_was_used_is_rejected_and_changes_nothing(
    brain, number, fields, webhook_id
):
    await send(brain, signal(1), "msg_a")
    before = await listed(brain)
    code, receipt = await send(brain, signal(number, **fields), webhook_id)
    assert (code, receipt) == (
        200,
        {
            "accepted": [],
            "rejected": [{"id": f"sig_{number}", "reason": "id_reused"}],
            "attempts": 1,
            "deliveredAt": "",
        },
    )
    assert await listed(brain) == before


async def test_what_nobody_can_compare_is_the_same_only_to_the_letter(small_brain):
    more = "9" * 5000  # more digits than are read
    event = encode_event(signal(1), now=NOW).decode()
    body = f'{event[:-2]}, "more": {more}}}}}'.encode()
    other = body.replace(b'"more": ', b'"more":  ')
    answers = [await post(small_brain, sent) for sent in (body, body, other)]
    assert [(code, receipt["accepted"]) for code, receipt in answers] == [(200, ["sig_1"]), (200, ["sig_1"]), (200, [])]


async def test_what_the_official_library_signs_is_taken(store_url):
    body = encode_event(signal(), now=NOW)
    now = datetime.now(UTC)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(KEY).sign("msg_1", now, body.decode()),
    }
    async with running_brain(store_url) as client:
        code, receipt = await post(client, body, headers)
    assert (code, receipt["accepted"]) == (200, ["sig_1"])


BODY = encode_event(signal(), now=NOW)


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (BODY + b" ", signed(BODY), "webhook_signature_wrong"),
        (BODY.replace(b"medium", b"severe"), signed(BODY), "webhook_signature_wrong"),
        (BODY, {**signed(BODY), "webhook-id": "msg_2"}, "webhook_signature_wrong"),
        (BODY, {**signed(BODY), "webhook-timestamp": str(NOW + 1)}, "webhook_signature_wrong"),
        (BODY, signed(BODY, keys=[NEW_KEY]), "webhook_signature_wrong"),
        (BODY, signed(BODY, timestamp=NOW - 301), "webhook_too_old"),
        (BODY, signed(BODY, timestamp=NOW + 301), "webhook_too_new"),
        (BODY, {}, "webhook_header_missing"),
        (BODY, {**signed(BODY), "webhook-timestamp": "soon"}, "webhook_header_invalid"),
    ],
)
async def test_what_is_not_proved_is_refused_by_name_and_not_kept(small_brain, body, headers, code):
    status, answer = await post(small_brain, body, headers)
    assert (status, answer["error"]["code"]) == (401, code)
    assert ids(await listed(small_brain)) == []


@pytest.mark.parametrize("skew", [300, -300])
async def test_five_minutes_of_skew_are_borne(small_brain, skew):
    assert (await post(small_brain, BODY, timestamp=NOW + skew))[0] == 200


async def test_while_keys_are_changed_the_old_and_the_new_are_known(clock):
    async with running_brain("memory://", clock, keys=(NEW_KEY, KEY)) as client:
        for number, keys in enumerate([(KEY,), (NEW_KEY,), (KEY, NEW_KEY)]):
            assert (await post(client, BODY, webhook_id=f"msg_{number}", keys=keys))[0] == 200


@pytest.mark.requirement("A-167")
async def test_a_goal_that_was_not_asked_for_is_kept_and_flagged(brain):
    await brain.put("/api/sessions/mes2-01/goals", json={"goals": [{"goalId": "moq"}, {"goalId": "colour"}]})
    for number, goal in enumerate(["moq", "colour", "customization", None]):
        await send(brain, signal(number, goal_id=goal))
    flags = {item["signalId"]: item["flags"] for item in (await listed(brain))["items"]}
    assert flags == {"sig_0": [], "sig_1": [], "sig_2": ["unknown_goal"], "sig_3": []}
    assert (await brain.get("/api/signals/sig_2")).json()["flags"] == ["unknown_goal"]


async def test_goals_that_are_told_later_count_and_without_any_the_usual_ones_do(brain):
    await send(brain, signal(1, goal_id="colour"))
    await send(brain, signal(2, goal_id="payment"))
    assert [item["flags"] for item in (await listed(brain))["items"]] == [[], ["unknown_goal"]]
    for goals in (["colour"], ["colour", "size"]):
        told = {"goals": [{"goalId": goal} for goal in goals]}
        assert (await brain.put("/api/sessions/mes2-01/goals", json=told)).json() == told
    assert (await brain.get("/api/sessions/mes2-01/goals")).json() == told
    assert [item["flags"] for item in (await listed(brain))["items"]] == [["unknown_goal"], []]


async def test_pages_go_on_where_the_last_one_ended_also_within_one_moment(brain, clock):
    for number in range(7):
        await send(brain, signal(number))
        clock.advance(number % 2)
    found, before = [], ""
    while True:
        page = await listed(brain, limit=3, before=before)
        found.append(ids(page))
        if page["next"] is None:
            break
        before = page["next"]
    assert found == [["sig_6", "sig_5", "sig_4"], ["sig_3", "sig_2", "sig_1"], ["sig_0"]]
    assert ids(await listed(brain, limit=7)) == [one for page in found for one in page]
    assert (await listed(brain, limit=7))["next"] is None


async def test_a_listing_can_be_narrowed(brain):
    await send(brain, signal(1))
    await send(brain, signal(2, session_id="mes2-02", severity="high"))
    await send(brain, FOLLOW_UP.__class__(**{**msgspec.structs.asdict(FOLLOW_UP), "signal_id": "sig_3"}))
    assert ids(await listed(brain, session="mes2-02")) == ["sig_2"]
    assert ids(await listed(brain, type="schedule_follow_up")) == ["sig_3"]
    assert ids(await listed(brain, severity="medium", session="mes2-01")) == ["sig_3", "sig_1"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/signals/none", 404),
        ("/api/signals?before=none", 404),
        ("/api/signals?limit=0", 400),
        ("/api/signals?limit=1001", 400),
        ("/api/signals?type=party", 400),
        ("/api/signals/%00", 404),
        ("/api/sessions/%0A/goals", 404),
        ("/nowhere", 404),
        ("/signals", 405),
    ],
)
async def test_what_is_not_there_has_a_name(small_brain, path, code):
    answer = await small_brain.get(path)
    assert answer.status_code == code
    assert answer.json()["error"]["code"]


async def test_an_event_of_another_type_is_taken_note_of_and_not_kept(small_brain):
    body = b'{"type": "supplier.party", "timestamp": "", "data": {}}'
    assert (await post(small_brain, body))[1]["rejected"] == [{"id": "msg_1", "reason": "unknown_type"}]
    assert ids(await listed(small_brain)) == []


async def test_a_signal_without_an_id_is_kept_under_its_webhooks(small_brain):
    code, receipt = await post(small_brain, encode_event(signal(signal_id=""), now=NOW))
    assert (code, receipt["accepted"], ids(await listed(small_brain))) == (200, ["msg_1"], ["msg_1"])


async def test_what_a_signal_says_more_than_we_know_is_kept_to_the_digit(brain):
    more = '"evidence": {"n": 123456789012345678901234567890, "f": 1.10, "s": "\\u0000\\ud83d\\ude00"}, "new": [1e400]}'
    body = BODY[:-2] + b"," + more.encode() + b"}"
    assert (await post(brain, body))[0] == 200
    answer = await brain.get("/api/signals/sig_1")
    assert "123456789012345678901234567890" in answer.text
    assert '"f": 1.10' in answer.text


@pytest.mark.parametrize(("size", "code"), [(MAX_BODY, 400), (MAX_BODY + 1, 413)])
async def test_a_body_has_a_limit_on_both_sides_of_which_the_answer_has_a_name(small_brain, size, code):
    status, answer = await post(small_brain, b"x" * size)
    assert (status, answer["error"]["code"]) == (code, {400: "invalid_body", 413: "request_too_large"}[code])


@pytest.mark.parametrize("environ", [{"GROUNDWIRE_MASTER_KEY": "k"}])
async def test_where_there_are_keys_listing_needs_one_and_signals_need_only_their_signature(clock, environ):
    async with running_brain("memory://", clock, environ=environ) as client:
        assert (await client.get("/api/signals")).status_code == 401
        assert (await post(client, BODY))[0] == 200
        answer = await client.get("/api/signals", headers={"authorization": "Bearer k"})
        assert ids(answer.json()) == ["sig_1"]


async def test_what_is_served_is_described(small_brain):
    document = (await small_brain.get("/openapi.json")).json()
    assert document["info"]["title"] == "Brain"
    assert sorted(document["paths"]) == [
        "/api/sessions/{sessionId}/goals",
        "/api/signals",
        "/api/signals/{signalId}",
        "/openapi.json",
        "/signals",
    ]
    schema = document["paths"]["/signals"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["data"] == {"$ref": "#/components/schemas/receiveSignal.Signal"}
    assert "receiveSignal.Signal" in document["components"]["schemas"]


# Whatever comes

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
fields = st.dictionaries(st.sampled_from(list(json.loads(BODY)["data"])), values)
events = fields.map(lambda changed: json.dumps({**json.loads(BODY), "data": {**json.loads(BODY)["data"], **changed}}))
fuzzed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def served():
    """A brain on a loop of its own, for tests that have none."""
    found, ready = [], threading.Event()

    async def serve():
        stop = asyncio.Event()
        async with running_brain("memory://") as client:
            found.extend([str(client.base_url), asyncio.get_running_loop(), stop])
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(60)
    url, loop, stop = found
    with httpx.Client(base_url=url, timeout=60) as client:
        yield client
    loop.call_soon_threadsafe(stop.set)
    thread.join(60)


def answer_to(client, body):
    return client.post("/signals", content=body, headers=signed(body, timestamp=int(time.time())))


@fuzzed
@given(body=st.binary() | st.text().map(str.encode) | events.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_that_are_signed_give_a_receipt_or_a_named_error(served, body):
    answer = answer_to(served, body)
    if answer.status_code == 200:
        assert set(answer.json()) == {"accepted", "rejected", "attempts", "deliveredAt"}
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_body")


@fuzzed
@given(
    st.dictionaries(st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.binary(max_size=50))
)
def test_any_headers_give_a_named_error(served, headers):
    safe = {name: base64.b85encode(value).decode() for name, value in headers.items()}
    answer = served.post("/signals", content=BODY, headers=safe)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"].startswith("webhook_")


async def test_schemathesis_finds_no_violation_of_the_description(small_brain, tmp_path):
    pipe = asyncio.subprocess.PIPE
    options = ["run", f"{small_brain.base_url}/openapi.json", "-n", "5", "--seed", "1", "--no-color"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "schemathesis.cli", *options, cwd=tmp_path, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


def test_signals_of_every_type_can_be_looked_for():
    assert set(get_args(TypeFilter)) == {*SignalType, "all"}
