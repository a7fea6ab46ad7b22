"""Each check finds what it is there for: an outcome that passes is spoilt in one place, and one check says so."""

import asyncio
import copy

import pytest

from groundwire.apps.supplier.contracts import GroundingMode
from groundwire.apps.supplier.evaluation.cases import cases_by_id
from groundwire.apps.supplier.evaluation.checks import checks_of
from groundwire.evals import Evidence
from tests.apps.supplier.evaluation.running import run_suite


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The codes of what is wrong, of a case's recorded outcome after a change to it."""
    done, _ = asyncio.run(run_suite(tmp_path_factory.mktemp("reports")))

    def found(name, change, model="simulated/other"):
        record = next(one for one in done.finished.records if one.trial.scenario.startswith(name))
        outcome = copy.deepcopy(record.state)
        outcome["model"] = model
        change(outcome)
        evidence = Evidence(outcome="completed", text="", calls=(), state=outcome, conversation=())
        checks = checks_of(cases_by_id()[record.trial.scenario], GroundingMode.STRICT)
        return [finding.code for check in checks if not (finding := check.function(evidence)).passed]

    return found


def setting(*path, to):
    def change(outcome):
        place = outcome
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to

    return change


NOT_SAID = {
    "grounded": False,
    "matchedTurn": None,
    "nearMiss": "paraphrase",
    "message": None,
    "start": None,
    "end": None,
}
SPOILT = {
    "another status": ("mes2-01", setting("status", to="rejected"), ["status"]),
    "a capture that nobody said": ("mes2-01", setting("botToolTrace", 0, "grounding", to=NOT_SAID), ["captures"]),
    "a capture that nobody looked at": ("mes2-01", setting("botToolTrace", 0, "grounding", to=None), ["captures"]),
    "a signal that nobody said": ("mes2-01", setting("signals", 0, "grounding", to=NOT_SAID), ["signals"]),
    "nothing captured": ("mes2-01", setting("botToolTrace", to=[]), ["rows"]),
    "a malformed call": ("mes2-01", setting("botCalls", 0, "valid", to=False), ["form"]),
    "a call made twice": ("mes2-01", setting("repeatedCalls", to=1), ["form"]),
    "thoughts in a reply": ("mes2-01", setting("history", 2, "content", to="<think>嗯</think>好的"), ["form"]),
    "a signal of no kind": ("mes2-01", setting("signals", 0, "signalType", to="party"), ["form"]),
    "a guess at a recording": ("mes2-02", setting("history", 2, "content", to="好的，80顶"), ["asks_for_text"]),
    "a picture as if seen": ("mes2-05", setting("history", 2, "content", to="这个颜色很好看"), ["admits_tokens"]),
    "a file as if read": ("mes2-09", setting("history", 4, "content", to="价格不错"), ["admits_tokens"]),
    "a refusal that nobody hears of": ("mes2-07", setting("signals", to=[]), ["is_ruled"]),
    "an appointment at another time": (
        "mes2-08",
        setting("signals", 0, "followUpTiming", "dueAt", to="2026-03-12T11:00:00+08:00"),
        ["is_due_tomorrow"],
    ),
    "a third nudge": ("mes2-12", setting("nudges", to=3), ["nudges"]),
    "canned hours misread": (
        "mes2-13",
        setting("signals", 0, "followUpTiming", "delayHours", to=24.0),
        ["nothing_canned"],
    ),
    "a chat elsewhere": ("mes2-14", setting("history", 4, "content", to="好的，加我"), ["stays_on_platform"]),
    "a contact given": (
        "mes2-14",
        setting("history", 4, "content", to="平台上说吧，我微信是abc"),
        ["stays_on_platform"],
    ),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_check_says_what_is_wrong(judge, spoilt):
    name, change, codes = SPOILT[spoilt]
    assert judge(name, change) == codes


@pytest.mark.parametrize("name", ["mes2-01", "mes2-02", "mes2-05", "mes2-07", "mes2-08", "mes2-11", "mes2-13"])
def test_an_outcome_that_nobody_spoilt_passes(judge, name):
    assert judge(name, lambda _: None) == []


def test_a_follow_up_made_of_a_time_of_shipping_is_found(judge):
    signal = {
        "sessionId": "s",
        "signalType": "schedule_follow_up",
        "severity": "medium",
        "reason": "~72h",
        "source": "summary-agent-llm",
        "supplierQuote": "付款后三天出货",
        "grounding": {**NOT_SAID, "grounded": True},
    }
    assert judge("mes2-11", setting("signals", to=[signal])) == ["no_follow_up"]


def test_a_fact_from_canned_text_is_found(judge):
    entry = {"turn": 2, "name": "log_data", "args": {}, "grounding": {**NOT_SAID, "grounded": True}}
    assert judge("mes2-13", setting("botToolTrace", to=[entry])) == ["nothing_canned"]


def test_half_of_the_facts_are_enough_and_fewer_are_not(judge):
    def keeping(count):
        def change(outcome):
            del outcome["botToolTrace"][count:]

        return change

    assert judge("mes2-11", keeping(2)) == []
    assert judge("mes2-11", keeping(1)) == ["rows"]


def test_a_wrong_figure_is_not_the_same_fact(judge):
    def change(outcome):
        for entry in outcome["botToolTrace"][1:]:
            entry["args"]["value"] = "7"
        del outcome["botToolTrace"][0]

    assert judge("mes2-08", change) == ["rows"]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("botToolTrace", 0, "args", "value"), "other", "captures"),
        (("botToolTrace", 0, "turn"), 3, "captures"),
        (("signals", 0, "severity"), "high", "signals"),
    ],
)
def test_the_recording_is_held_to_the_letter(judge, path, value, code):
    assert code in judge("mes2-01", setting(*path, to=value), model="simulated/recorded")
