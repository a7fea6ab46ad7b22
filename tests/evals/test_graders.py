"""Checks: what passes, what fails, and under which name."""

import pytest
from msgspec.structs import replace

from groundwire import ConfigError
from groundwire.evals.graders import Evidence, grade
from groundwire.evals.graders.rubrics import JudgeFailed
from groundwire.evals.records import CallTrace, Finding, Tokens
from groundwire.evals.scenarios import (
    CallsCheck,
    ExpectedCall,
    FunctionCheck,
    GroundingCheck,
    LimitsCheck,
    OutcomeCheck,
    RubricCheck,
    StateCheck,
    TextCheck,
)
from groundwire.runtime.clock import SystemClock
from groundwire.testing import Answer, ScriptedModel, ScriptedProvider

GET = CallTrace(name="get", arguments={"path": "/a", "depth": 1}, ok=True)
PATCH = CallTrace(name="patch", arguments={"ops": [{"op": "set", "value": 1}]}, ok=False, error="TYPE_MISMATCH")
EVIDENCE = Evidence(
    outcome="completed",
    text="  Done. ",
    calls=(GET, PATCH),
    state={"a": {"b": [1, 2]}},
    conversation=(
        {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "I pay 5 euros each."}]},
        {"kind": "message", "role": "assistant", "parts": [{"kind": "text", "text": "So 6 dollars."}]},
        {"kind": "result", "call_id": "c", "parts": [{"kind": "text", "text": "MOQ is 100"}]},
    ),
    steps=3,
    latency_ms=120.0,
    tokens=Tokens(input=90, output=10),
    cost=0.02,
)


def call(name, **options):
    return ExpectedCall(name=name, **options)


@pytest.mark.parametrize(
    "check",
    [
        CallsCheck(calls=(call("patch"), call("get"))),
        CallsCheck(mode="order", calls=(call("get"), call("patch"))),
        CallsCheck(mode="exact", calls=(call("get", arguments={"path": "/a"}), call("patch", ok=False))),
        CallsCheck(calls=(call("patch", error="TYPE_MISMATCH", arguments={"ops": [{"op": "set"}]}),)),
        CallsCheck(calls=(call("get", schema={"properties": {"depth": {"maximum": 1}}}),), at_most=2),
        CallsCheck(calls=(call("get", arguments={"depth": 1.0}),)),
        CallsCheck(none=("delete",)),
        StateCheck(path="/a/b", equals=[1, 2]),
        StateCheck(path="/a", equals={"b": [1.0, 2]}),
        StateCheck(path="/a/c", absent=True),
        StateCheck(path="/a"),
        TextCheck(equals="Done."),
        TextCheck(contains=("Do",), lacks=("not",), matches=r"^D.*\.$"),
        OutcomeCheck(),
        LimitsCheck(latency_ms=120, cost=0.02, tokens=100, steps=3),
    ],
    ids=repr,
)
async def test_what_is_right_passes(check):
    (finding,) = await grade([check], EVIDENCE)
    assert (finding.passed, finding.code) == (True, "")


@pytest.mark.parametrize("paths", [("/a", "/b"), ("/b", "/a")])
async def test_what_any_call_fits_leaves_the_right_one_to_what_needs_it(paths):
    calls = (call("get"), call("get", arguments={"path": "/a"}))
    made = tuple(replace(GET, arguments={"path": path}) for path in paths)
    (finding,) = await grade([CallsCheck(calls=calls)], replace(EVIDENCE, calls=made))
    assert finding.passed
    (finding,) = await grade([CallsCheck(calls=calls)], replace(EVIDENCE, calls=made[:1]))
    assert not finding.passed


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (CallsCheck(mode="order", calls=(call("patch"), call("get"))), "wrong_arguments"),
        (CallsCheck(calls=(call("delete"),)), "missing_call"),
        (CallsCheck(calls=(call("get"), call("get"))), "wrong_arguments"),
        (CallsCheck(calls=(call("get", arguments={"path": "/b"}),)), "wrong_arguments"),
        (CallsCheck(calls=(call("get", arguments={"depth": True}),)), "wrong_arguments"),
        (CallsCheck(calls=(call("patch", arguments={"ops": []}),)), "wrong_arguments"),
        (CallsCheck(calls=(call("get", schema={"required": ["limit"]}),)), "wrong_arguments"),
        (CallsCheck(calls=(call("patch", ok=True),)), "wrong_arguments"),
        (CallsCheck(mode="exact", calls=(call("get"),)), "extra_call"),
        (CallsCheck(mode="exact", calls=(call("get"), call("patch"), call("get"))), "missing_call"),
        (CallsCheck(none=("patch",)), "forbidden_call"),
        (CallsCheck(none=("*",)), "forbidden_call"),
        (CallsCheck(at_most=1), "too_many_calls"),
        (StateCheck(path="/a/b", equals=[2, 1]), "wrong_state"),
        (StateCheck(path="/a/b/0", equals=True), "wrong_state"),
        (StateCheck(path="/a/b", equals=[True, 2]), "wrong_state"),
        (StateCheck(path="/a", equals={}), "wrong_state"),
        (StateCheck(path="/a", equals={"b": [1, 2], "c": None}), "wrong_state"),
        (StateCheck(path="/a/c", equals=None), "missing_state"),
        (StateCheck(path="/a", absent=True), "unwanted_state"),
        (TextCheck(equals="Done"), "wrong_text"),
        (TextCheck(contains=("done",)), "wrong_text"),
        (TextCheck(lacks=("Done",)), "wrong_text"),
        (TextCheck(matches=r"\d"), "wrong_text"),
        (OutcomeCheck(equals="refused"), "completed"),
        (LimitsCheck(latency_ms=119.9), "over_latency_ms"),
        (LimitsCheck(cost=0.019), "over_cost"),
        (LimitsCheck(tokens=99), "over_tokens"),
        (LimitsCheck(steps=2), "over_steps"),
    ],
    ids=repr,
)
async def test_what_is_wrong_fails_under_a_name(check, code):
    (finding,) = await grade([check], EVIDENCE)
    assert (finding.passed, finding.code) == (False, code)
    assert finding.message


async def test_an_empty_answer_has_a_name_of_its_own():
    (finding,) = await grade([TextCheck(equals="Done.")], replace(EVIDENCE, text=" \n"))
    assert finding.code == "empty_text"


async def test_a_pattern_takes_one_pass_whatever_the_answer_is():
    answer = "a" * 50_000 + "!"
    (finding,) = await grade([TextCheck(matches="^(a+)+$")], replace(EVIDENCE, text=answer))
    assert finding.code == "wrong_text"


async def test_a_cost_that_nobody_knows_is_not_below_a_limit():
    (finding,) = await grade([LimitsCheck(cost=1.0)], replace(EVIDENCE, cost=None))
    assert (finding.passed, finding.code) == (False, "unknown_cost")


@pytest.mark.parametrize("mode", ["strict", "report"])
async def test_quotes_are_looked_for_in_what_users_and_tools_said_and_not_in_the_models_words(mode):
    quoted = CallTrace(
        name="capture",
        arguments={"rows": [{"quote": "5 euros"}, {"quote": "MOQ is 100"}, {"quote": "6 dollars"}, {"quote": " "}]},
        ok=True,
    )
    check = GroundingCheck(tool="capture", quotes=("/rows/*/quote",), mode=mode)
    (finding,) = await grade([check], replace(EVIDENCE, calls=(quoted, GET)))
    assert finding.counts == {"quotes": 4, "grounded": 2}
    assert (finding.passed, finding.code) == (mode == "report", "ungrounded")
    assert finding.detail == {"ungrounded": ["6 dollars", " "]}


async def test_a_function_of_ones_own_says_what_is_wrong():
    async def later(evidence):
        return f"{evidence.steps} steps are too many"

    checks = [
        FunctionCheck(function=lambda evidence: None, name="fine"),
        FunctionCheck(function=lambda evidence: False, name="no"),
        FunctionCheck(function=later),
        FunctionCheck(function=lambda evidence: Finding(check="own", passed=True)),
    ]
    found = await grade(checks, EVIDENCE)
    assert [(one.check, one.passed, one.message) for one in found] == [
        ("fine", True, ""),
        ("no", False, ""),
        ("later", False, "3 steps are too many"),
        ("own", True, ""),
    ]


@pytest.mark.parametrize("address", ["nowhere:x", "os:nothing", "os:path", "os", ""])
async def test_a_function_that_is_not_there_is_told(address):
    with pytest.raises(ConfigError):
        await grade([FunctionCheck(function=address)], EVIDENCE)


def judges_saying(*answers):
    provider = ScriptedProvider(
        ScriptedModel(otherwise=lambda request: answers[request.sampling.seed]), clock=SystemClock()
    )
    return lambda name: (provider, name or "judge")


YES, NO = Answer('{"why": "it is polite", "yes": true}'), Answer('{"why": "it is rude", "yes": false}')


@pytest.mark.parametrize(
    ("votes", "passed", "code", "agreed"),
    [((YES, YES, YES), True, "", 3), ((YES, NO, YES), True, "", 2), ((NO, YES, NO), False, "rubric", 2)],
)
async def test_a_rubric_is_decided_by_the_majority_and_every_vote_is_kept(votes, passed, code, agreed):
    (finding,) = await grade([RubricCheck(question="Is it polite?")], EVIDENCE, judges=judges_saying(*votes))
    assert (finding.passed, finding.code) == (passed, code)
    assert finding.counts == {"votes": 3, "agreed": agreed}
    assert [vote["yes"] for vote in finding.detail["votes"]] == [vote is YES for vote in votes]


async def test_a_judge_that_contradicts_itself_decides_nothing():
    check = RubricCheck(question="Is it polite?", votes=2)
    (finding,) = await grade([check], EVIDENCE, judges=judges_saying(YES, NO))
    assert (finding.passed, finding.code) == (False, "judge_undecided")


async def test_a_judge_without_a_verdict_is_not_the_models_fault():
    with pytest.raises(JudgeFailed):
        await grade([RubricCheck(question="?", votes=1)], EVIDENCE, judges=judges_saying(Answer("I think so.")))


async def test_a_rubric_without_a_judge_is_a_configuration_error():
    with pytest.raises(ConfigError, match="judge"):
        await grade([RubricCheck(question="?")], EVIDENCE)


async def test_the_judge_is_not_told_whose_work_it_reads():
    seen = []

    def judge(request):
        seen.append(request)
        return YES

    provider = ScriptedProvider(ScriptedModel(otherwise=judge), clock=SystemClock())
    await grade([RubricCheck(question="?", votes=1)], EVIDENCE, judges=lambda name: (provider, "judge"))
    (request,) = seen
    assert "MOQ is 100" in request.items[-1].text
    assert request.model == "judge"
