"""One trial: what is asked, what is judged, and whose fault it is where nothing can be."""

import pytest
from msgspec.structs import replace

from groundwire import ConfigError, Failure, FailureKind, Registry, tool
from groundwire.evals.contestants import Contestant
from groundwire.evals.graders.rubrics import Judges
from groundwire.evals.planning import seed_of
from groundwire.evals.records import Blame, Finding, Status, Trial
from groundwire.evals.scenarios import (
    CallsCheck,
    ExpectedCall,
    FunctionCheck,
    RubricCheck,
    Scenario,
    SimulatedUser,
    StateCheck,
    TextCheck,
)
from groundwire.evals.simulated import simulated_models
from groundwire.evals.suites import WORKSPACE
from groundwire.evals.trials import carry_out
from groundwire.runtime.clock import SystemClock
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider

TRIAL = Trial(model="m", profile="default", strategy="s", scenario="x", number=1)
SAY = Scenario(id="x", turns=("Hello",), checks=(TextCheck(equals="Hi."),))


def scripted(*answers, **options):
    return Contestant(name="m", models=ScriptedProvider(ScriptedModel(*answers, **options), clock=SystemClock()))


async def tried(scenario, contestant, judges: Judges | None = None):
    return await carry_out(TRIAL, scenario, contestant, seed=7, judges=judges)


async def test_a_trial_that_passes_tells_all_that_happened():
    scenario = Scenario(
        id="x",
        setup={"draft": {"title": "Old"}},
        turns=("Rename it",),
        checks=(StateCheck(path="/draft/title", equals="New"), TextCheck(equals="Done.")),
    )
    patch = Ask("state_patch", {"ops": [{"op": "set", "path": "/draft/title", "value": "New"}]})
    record = await tried(scenario, scripted(Answer(calls=(patch,)), "Done."))
    assert (record.status, record.blame, record.code) == (Status.PASSED, None, "")
    assert (record.outcome, record.text, record.steps) == ("completed", "Done.", 2)
    assert [(call.name, call.ok, call.data) for call in record.calls] == [
        ("state_patch", True, {"version": 2, "changed": ["/draft/title"]})
    ]
    assert record.state == {"draft": {"title": "New"}}
    assert [item["kind"] for item in record.conversation] == ["message", "call", "result", "message"]
    assert record.latency_ms > 0
    assert record.tokens.input > 0
    assert scenario.setup == {"draft": {"title": "Old"}}


async def test_a_failed_trial_names_the_first_check_that_failed_and_keeps_all_findings():
    scenario = replace(
        SAY, checks=(TextCheck(equals="Ho."), TextCheck(contains=("H",)), CallsCheck(calls=(ExpectedCall(name="a"),)))
    )
    record = await tried(scenario, scripted("Hi."))
    assert (record.status, record.blame, record.code) == (Status.FAILED, Blame.MODEL, "wrong_text")
    assert [finding.passed for finding in record.findings] == [True, False, True, False]


async def test_a_run_that_does_not_end_well_has_failed_whatever_it_said():
    record = await tried(replace(SAY, checks=()), scripted(Answer("")))
    assert (record.status, record.code) == (Status.FAILED, "empty_answer")


@pytest.mark.parametrize(
    ("kind", "blame"),
    [
        (FailureKind.RATE_LIMIT, Blame.PROVIDER),
        (FailureKind.AUTHENTICATION, Blame.PROVIDER),
        (FailureKind.PERMISSION, Blame.PROVIDER),
        (FailureKind.INVALID_REQUEST, Blame.HARNESS),
        (FailureKind.TOO_LARGE, Blame.HARNESS),
    ],
)
@pytest.mark.requirement("C-102")
async def test_what_the_provider_or_we_did_wrong_is_never_scored(kind, blame):
    failure = Failure(kind=kind, message="no", status=400)
    record = await tried(SAY, scripted(Answer(failure=failure)))
    assert (record.status, record.blame, record.code, record.is_scored) == (Status.INVALID, blame, kind.value, False)


async def test_a_refusal_by_the_model_s_filter_is_the_model_s():
    failure = Failure(kind=FailureKind.CONTENT_FILTER, message="no", status=400)
    record = await tried(SAY, scripted(Answer(failure=failure)))
    assert (record.status, record.blame) == (Status.FAILED, Blame.MODEL)


async def test_a_mistake_in_a_script_is_the_simulator_s():
    record = await tried(SAY, scripted(Answer(calls=(Ask("nobody", {}),))))
    assert (record.status, record.blame, record.code) == (Status.INVALID, Blame.SIMULATOR, "script_error")


async def test_a_user_who_answers_by_rules_goes_on_until_the_end():
    scenario = Scenario(
        id="x",
        turns=("I want to book.",),
        user=SimulatedUser(rules=(("how many", "Two."), ("which day", "Friday."), ("booked", "###END###"))),
        checks=(TextCheck(contains=("booked",)),),
    )
    record = await tried(scenario, scripted("For how many?", "On which day?", "It is booked."))
    assert record.status is Status.PASSED
    said = [item["parts"][0]["text"] for item in record.conversation]
    assert said == ["I want to book.", "For how many?", "Two.", "On which day?", "Friday.", "It is booked."]


async def test_a_user_who_is_a_model_sees_the_other_side_of_the_conversation():
    seen = []

    def plays(request):
        seen.append([(item.role, item.text) for item in request.items[1:]])
        return Answer("Two." if len(seen) == 1 else "###END###")

    player = ScriptedProvider(ScriptedModel(otherwise=plays), clock=SystemClock())
    scenario = Scenario(
        id="x", turns=("I want to book.",), user=SimulatedUser(model="player", role="A guest."), checks=()
    )
    record = await tried(scenario, scripted("For how many?", "Done."), judges=lambda name: (player, name))
    assert record.status is Status.PASSED
    assert seen[0] == [("assistant", "I want to book."), ("user", "For how many?")]


async def test_a_user_who_cannot_be_asked_is_not_the_models_fault():
    failure = Failure(kind=FailureKind.OVERLOADED, message="busy", status=503)
    player = ScriptedProvider(ScriptedModel(Answer(failure=failure)), clock=SystemClock())
    scenario = Scenario(id="x", turns=(), user=SimulatedUser(model="player", role="A guest."))
    record = await tried(scenario, scripted("Hi."), judges=lambda name: (player, name))
    assert (record.status, record.blame, record.code) == (Status.INVALID, Blame.SIMULATOR, "user_failed")


async def test_a_judge_that_cannot_be_asked_makes_the_trial_invalid_and_loses_nothing_of_it():
    failure = Failure(kind=FailureKind.OVERLOADED, message="busy", status=503)
    judge = ScriptedProvider(ScriptedModel(Answer(failure=failure)), clock=SystemClock())
    scenario = replace(SAY, checks=(RubricCheck(question="?", votes=1),))
    record = await tried(scenario, scripted("Hi."), judges=lambda name: (judge, name))
    assert (record.status, record.blame, record.code, record.text) == (
        Status.INVALID,
        Blame.HARNESS,
        "judge_failed",
        "Hi.",
    )


@pytest.mark.parametrize(
    ("text", "status", "blame", "code"),
    [("Hi.", Status.INVALID, Blame.HARNESS, "judge_undecided"), ("Ho.", Status.FAILED, Blame.MODEL, "wrong_text")],
)
async def test_even_votes_say_nothing_about_the_model_whatever_else_does(text, status, blame, code):
    votes = iter([True, False])
    judge = ScriptedModel(otherwise=lambda _: Answer(f'{{"why": "", "yes": {str(next(votes)).lower()}}}'))
    scenario = replace(SAY, checks=(RubricCheck(question="Is it polite?", votes=2), *SAY.checks))
    provider = ScriptedProvider(judge, clock=SystemClock())
    record = await tried(scenario, scripted(text), judges=lambda name: (provider, "judge"))
    assert (record.status, record.blame, record.code) == (status, blame, code)
    assert [finding.check for finding in record.findings] == ["outcome", "rubric", "text"]


async def test_an_environment_of_ones_own_is_made_anew_for_every_trial():
    made = []

    class Counter:
        def __init__(self, setup):
            self.count = setup["from"]
            made.append(self)

            @tool(category="action")
            async def count_up() -> dict:
                """Count."""
                self.count += 1
                return {"count": self.count}

            self.registry = Registry([count_up])

        def state(self):
            return {"count": self.count}

    scenario = Scenario(
        id="x",
        environment=Counter,
        setup={"from": 4},
        turns=("Count",),
        checks=(StateCheck(path="/count", equals=5),),
    )
    contestant = scripted(Answer(calls=(Ask("count_up", {}),)), "Done.")
    assert [(await tried(scenario, contestant)).status for _ in range(2)] == [Status.PASSED] * 2
    assert len(made) == 2


@pytest.mark.parametrize("environment", ["nowhere", "nowhere:x", "os:path"])
async def test_an_environment_that_is_not_there_is_told_once_and_for_all(environment):
    with pytest.raises(ConfigError):
        await tried(replace(SAY, environment=environment), scripted("Hi."))


class _Own:
    registry = Registry([])

    def __init__(self, _setup):
        pass

    def state(self):
        return {}


class _CrashesAtLast(_Own):
    def state(self):
        raise ValueError("no state")


class _HoldsObjects(_Own):
    def state(self):
        return {"object": object()}


def _crashes(_given):
    raise KeyError("boom")


def _exits(_given):
    raise SystemExit(3)


@pytest.mark.parametrize("environment", [_crashes, _exits, lambda _setup: None, _CrashesAtLast, _HoldsObjects])
async def test_a_mistake_in_an_environment_is_not_the_model_s_and_ends_nothing(environment):
    record = await tried(replace(SAY, environment=environment), scripted("Hi."))
    assert (record.status, record.blame, record.code) == (Status.INVALID, Blame.HARNESS, "harness_error")
    assert record.message


@pytest.mark.parametrize(
    "function",
    [
        _crashes,
        _exits,
        lambda _: 42,
        lambda _: ["wrong"],
        lambda _: Finding(check="x", passed=True, detail={"a": object()}),
    ],
)
async def test_a_mistake_in_a_check_is_not_the_model_s_and_what_was_said_is_kept(function):
    record = await tried(replace(SAY, checks=(FunctionCheck(function=function),)), scripted("Hi."))
    assert (record.status, record.blame, record.code) == (Status.INVALID, Blame.HARNESS, "harness_error")
    assert record.text == "Hi."
    assert record.message


@pytest.mark.requirement("C-147", "C-149")
@pytest.mark.parametrize(
    ("tools", "offered"),
    [((), {"state_get"}), (("state_patch",), {"state_patch"}), (("*",), {"state_get", "state_patch"})],
)
async def test_only_the_tools_that_are_allowed_are_on_offer(tools, offered):
    seen = []

    def look(request):
        seen.append({one.name for one in request.tools})
        return Answer("Hi.")

    scenario = replace(SAY, tools=tools or ("state_get",))
    await tried(scenario, scripted(otherwise=look))
    assert seen == [offered]


@pytest.mark.parametrize("scenario", WORKSPACE.scenarios, ids=lambda scenario: scenario.id)
@pytest.mark.requirement(
    "C-044", "C-045", "C-046", "C-047", "C-048", "C-054", "C-056", "C-058", "C-059", "C-060", "C-066", "C-101",
    "C-196", "C-197", "C-198", "C-199", "C-200", "C-201",
)  # fmt: skip
async def test_every_scenario_that_ships_is_passed_by_a_model_that_does_everything_right(scenario):
    async with simulated_models([WORKSPACE], faults=scenario.faults) as models:
        record = await tried(scenario, Contestant(name="simulated/perfect", models=models))
    assert (record.status, record.message) == (Status.PASSED, "")


@pytest.mark.parametrize("scenario", WORKSPACE.scenarios, ids=lambda scenario: scenario.id)
async def test_no_scenario_that_ships_is_passed_by_a_model_that_only_claims_to_be_done(scenario):
    record = await tried(scenario, scripted(otherwise=lambda request: Answer("All is done, of course.")))
    assert record.status is Status.FAILED


def test_a_seed_belongs_to_its_trial_whatever_else_is_run():
    assert seed_of(1, TRIAL) == seed_of(1, TRIAL)
    others = {seed_of(1, replace(TRIAL, number=number)) for number in range(200)} | {seed_of(2, TRIAL)}
    assert len(others) == 201
    assert all(0 <= seed < 2**31 for seed in others)
