"""Arguments that the executor fills in: who sent what, what the handler gets, and what makes two calls the same."""

import re

import pytest

from groundwire import ErrorType, tool
from groundwire.contracts.tools import model_parameters
from groundwire.testing import FakeClock, assert_failed, assert_ok

METADATA = ("request_id", "idempotency_key", "actor", "timestamp")


@tool(category="action", supplied=METADATA)
def send(text: str, request_id: str, idempotency_key: str, actor: str, timestamp: str) -> dict:
    """Send a message."""
    return {"text": text, "metadata": [request_id, idempotency_key, actor, timestamp]}


@tool(category="retrieval", supplied=("request_id", "workspace"))
def read(path: str, request_id: str, workspace: str | None = None) -> dict:
    """Read a file."""
    return {"path": path, "request_id": request_id, "workspace": workspace}


def counting(**options):
    runs = []

    @tool(category="action", **options)
    def note(text: str, request_id: str = "", workspace: str = "") -> int:
        """Note it."""
        runs.append((text, request_id, workspace))
        return len(runs)

    return note, runs


@pytest.mark.requirement("X-23", "C-026", "D-104", "D-105", "D-106", "D-110")
async def test_every_call_carries_its_metadata_even_if_nobody_sent_any(make):
    runtime = make(send, clock=FakeClock())
    result = await runtime.call("send", {"text": "hi"}, caller="model")
    request_id, key, actor, timestamp = assert_ok(result)["metadata"]
    assert request_id == result.meta.call_id
    assert key
    assert actor == "system"
    assert timestamp == "2023-11-14T22:13:20.000Z"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp)


@pytest.mark.requirement("D-105", "D-106", "D-107", "D-108", "D-109")
@pytest.mark.parametrize("actor", ["moltbot", "system", "admin"])
async def test_what_the_request_was_opened_with_reaches_the_handler_and_the_record(make, audit_of, actor):
    runtime = make(send)
    result = await runtime.call("send", {"text": "hi"}, request_id="r-1", actor=actor, idempotency_key="k-1")
    assert assert_ok(result)["metadata"][:3] == ["r-1", "k-1", actor]
    (entry,) = await audit_of(runtime)
    assert (entry.request_id, entry.actor, entry.effect_key) == ("r-1", actor, "caller:k-1")


@pytest.mark.requirement("D-113")
async def test_a_request_id_among_the_supplied_values_is_the_records_request_id(make, audit_of):
    runtime = make(send)
    assert_ok(await runtime.call("send", {"text": "hi"}, supplied={"request_id": "r-2"}))
    (entry,) = await audit_of(runtime)
    assert entry.request_id == "r-2"


@pytest.mark.requirement("X-23", "C-026")
def test_a_model_is_not_shown_what_is_supplied():
    for form in (send, read):
        shown = model_parameters(form.spec)["properties"]
        assert set(shown) == set(form.spec.parameters["properties"]) - set(form.spec.policy.supplied)


async def test_a_models_value_is_overwritten_and_noted(make):
    runtime = make(send)
    result = await runtime.call("send", {"text": "hi", "actor": "admin"}, caller="model", actor="moltbot")
    assert assert_ok(result)["metadata"][2] == "moltbot"
    assert ["actor" in warning for warning in result.warnings] == [True]


async def test_a_model_that_sends_the_right_value_hears_nothing(make):
    runtime = make(send)
    result = await runtime.call("send", {"text": "hi", "actor": "moltbot"}, caller="model", actor="moltbot")
    assert result.warnings == ()


async def test_a_models_value_is_dropped_where_there_is_nothing_to_supply(make):
    runtime = make(read)
    result = await runtime.call("read", {"path": "a", "workspace": "other"}, caller="model")
    assert assert_ok(result)["workspace"] is None
    assert len(result.warnings) == 1


async def test_a_callers_value_must_agree_with_what_the_request_was_opened_with(make):
    runtime = make(read)
    agreeing = await runtime.call("read", {"path": "a", "request_id": "r-1"}, request_id="r-1")
    assert assert_ok(agreeing)["request_id"] == "r-1"
    contradicting = await runtime.call("read", {"path": "a", "request_id": "r-2"}, request_id="r-1")
    assert_failed(contradicting, ErrorType.VALIDATION, detail="SUPPLIED_MISMATCH")


async def test_a_callers_value_stands_where_the_request_says_nothing(make):
    runtime = make(read)
    result = await runtime.call("read", {"path": "a", "workspace": "w"})
    assert assert_ok(result)["workspace"] == "w"
    assert result.warnings == ()


async def test_calls_about_different_objects_are_different_effects(make):
    note, runs = counting(supplied=("request_id", "workspace"), scope="conversation")
    runtime = make(note)
    for request_id in ("r-1", "r-2"):
        async with runtime.turn(session="s", request_id=request_id) as turn:
            assert_ok(await runtime.call("note", {"text": "hi"}, turn=turn, caller="model"))
    assert [run[1] for run in runs] == ["r-1", "r-2"]


@pytest.mark.parametrize("name", ["request_id", "workspace"])
async def test_objects_named_by_the_caller_in_the_arguments_are_different_effects_too(make, name):
    note, runs = counting(supplied=("request_id", "workspace"))
    runtime = make(note)
    async with runtime.turn(session="s") as turn:
        for value in ("one", "two", "one"):
            assert_ok(await runtime.call("note", {"text": "hi", name: value}, turn=turn))
    assert len(runs) == 2


async def test_a_model_cannot_make_a_second_effect_by_inventing_an_object(make):
    note, runs = counting(supplied=("request_id", "workspace"))
    runtime = make(note)
    async with runtime.turn(session="s") as turn:
        for value in ("one", "two"):
            assert_ok(await runtime.call("note", {"text": "hi", "workspace": value}, turn=turn, caller="model"))
    assert len(runs) == 1


async def test_time_and_actor_do_not_make_another_effect(make, clock):
    runtime = make(send, clock=clock)
    results = []
    for actor in ("moltbot", "admin"):
        clock.advance(60)
        async with runtime.turn(session="s", run_id="run-1", actor=actor) as turn:
            results.append(await runtime.call("send", {"text": "hi"}, turn=turn))
    assert [result.meta.replayed for result in results] == [False, True]


async def test_a_scope_may_name_a_supplied_argument_and_a_model_cannot_choose_its_value(make):
    note, runs = counting(supplied=("request_id",), scope=("request_id", "text"))
    runtime = make(note)
    for request_id, claimed in (("r-1", "x"), ("r-1", "y"), ("r-2", "x")):
        async with runtime.turn(request_id=request_id) as turn:
            arguments = {"text": "hi", "request_id": claimed}
            assert_ok(await runtime.call("note", arguments, turn=turn, caller="model"))
    assert [run[1] for run in runs] == ["r-1", "r-2"]


async def test_a_scope_over_a_request_id_that_nobody_gave_does_not_join_unrelated_runs(make):
    note, runs = counting(supplied=("request_id",), scope=("request_id",))
    runtime = make(note)
    for text in ("a", "b"):
        async with runtime.turn() as turn:
            assert_ok(await runtime.call("note", {"text": text}, turn=turn, caller="model"))
    assert len(runs) == 2
