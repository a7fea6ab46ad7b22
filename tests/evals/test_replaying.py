"""Stored runs against something new, as an evaluation."""

from datetime import UTC, datetime

import pytest

from groundwire import Agent, ConfigError, Registry, Runtime, tool
from groundwire.contracts.errors import NotFound
from groundwire.evals.records import Blame, Status, decode_record, encode_record
from groundwire.evals.replaying import plan_replays, replay_trials
from groundwire.replays import Changes
from groundwire.testing import Answer, Ask, Failure, FakeClock, ScriptedModel, ScriptedProvider

RAN = []
NOW = datetime(2026, 11, 16, 12, 30, 5, tzinfo=UTC)


@tool
def get_price(item: str) -> dict:
    """What something costs."""
    RAN.append(item)
    return {"item": item, "price": 7}


PEAR = Answer(calls=(Ask("get_price", {"item": "pear"}),))
PLUM = Answer(calls=(Ask("get_price", {"item": "plum"}),))


def scripted(*answers):
    return ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())


async def replay(*answers, changes=None, trials=1, recorded=(PEAR, "It is 7.")):
    """Record two runs, and replay them against these answers."""
    RAN.clear()
    changes = changes or Changes(model="sim/new")
    seen = []
    async with Runtime(Registry([get_price]), "memory://") as runtime:
        run_ids = []
        for prompt in ("What is a pear?", "And again, a pear?"):
            agent = Agent("sim/old", runtime=runtime, models=scripted(*recorded))
            run_ids.append((await agent.run(prompt)).run_id)
        run = await plan_replays(runtime, run_ids, changes, now=NOW, trials=trials)
        records = await replay_trials(runtime, run, changes, scripted(*answers), on_record=seen.append)
    assert seen == list(records)
    return run, records


async def test_runs_that_come_out_the_same_pass():
    run, records = await replay(PEAR, "It is 7.")
    assert (run.models, run.strategies, run.profiles) == (("sim/new",), ("replay",), ("recorded",))
    assert [record.trial.scenario for record in records] == list(run.scenarios)
    assert [(record.status, record.blame) for record in records] == [(Status.PASSED, None)] * 2
    assert (records[0].text, records[0].steps, records[0].outcome) == ("It is 7.", 2, "completed")
    assert [(call.name, call.arguments, call.ok) for call in records[0].calls] == [
        ("get_price", {"item": "pear"}, True)
    ]
    assert RAN == ["pear", "pear"]


async def test_every_difference_is_a_finding_and_no_tool_runs():
    _, records = await replay(PLUM, "It is 8.")
    wrong = [finding for finding in records[0].findings if not finding.passed]
    assert [finding.code for finding in wrong] == ["call_changed", "call_unrecorded", "text"]
    assert (records[0].status, records[0].blame, records[0].code) == (Status.FAILED, Blame.MODEL, "call_changed")
    assert records[0].message == 'step 1: call_changed of get_price: {"item":"pear"} → {"item":"plum"}'
    assert wrong[2].detail == {"step": 2, "name": "", "recorded": "It is 7.", "replayed": "It is 8."}
    assert [call.error for call in records[0].calls] == ["NOT_RECORDED"]
    assert RAN == ["pear", "pear"]


async def test_calls_that_the_record_lacks_run_where_that_is_asked_for():
    run, records = await replay(PLUM, "It is 7.", changes=Changes(model="sim/new", execute=True))
    assert RAN == ["pear", "pear", "plum", "plum"]
    assert [call.data for call in records[0].calls] == [{"item": "plum", "price": 7}]
    assert run.notes == {"sim/new": "calls carried out"}


async def test_changed_instructions_are_told_and_are_no_fault():
    run, records = await replay(PEAR, "It is 7.", changes=Changes(instructions="Be kind."))
    assert (run.models, run.notes) == (("sim/old",), {"sim/old": "other instructions"})
    assert records[0].passed
    assert [(finding.code, finding.passed) for finding in records[0].findings] == [("plan", True)]


async def test_changed_tools_are_replayed_against():
    @tool
    def get_price(item: str, currency: str = "EUR") -> dict:
        """What something costs, in a currency."""
        return {}

    run, records = await replay(PEAR, "It is 7.", changes=Changes(registry=Registry([get_price])))
    assert run.notes == {"sim/old": "other tools"}
    assert records[0].passed
    assert [finding.detail["name"] for finding in records[0].findings] == ["tools.get_price"]


async def test_a_provider_that_fails_says_nothing_about_the_model():
    failing = Answer(failure=Failure(kind="overloaded", message="Too busy."))
    _, records = await replay(failing)
    assert (records[0].status, records[0].blame, records[0].code) == (Status.INVALID, Blame.PROVIDER, "overloaded")
    assert records[0].message == "Too busy."


async def test_a_provider_that_fails_as_it_did_then_says_nothing_either():
    failing = Answer(failure=Failure(kind="overloaded", message="Too busy."))
    _, records = await replay(failing, recorded=(failing,))
    assert (records[0].status, records[0].blame) == (Status.INVALID, Blame.PROVIDER)


async def test_trials_are_counted_and_records_are_like_any_others():
    _, records = await replay(PEAR, "It is 7.", trials=3)
    assert [record.trial.number for record in records] == [1, 2, 3, 1, 2, 3]
    assert [decode_record(encode_record(record)) for record in records] == list(records)


async def test_a_run_that_is_not_there_is_named_before_anybody_is_asked():
    async with Runtime(Registry(), "memory://") as runtime:
        with pytest.raises(NotFound, match="Run 'nowhere' does not exist"):
            await plan_replays(runtime, ["nowhere"], Changes(model="sim/new"), now=NOW)


async def test_a_replay_that_changes_nothing_is_refused():
    async with Runtime(Registry(), "memory://") as runtime:
        with pytest.raises(ConfigError, match="changes nothing"):
            await plan_replays(runtime, [], Changes(), now=NOW)
