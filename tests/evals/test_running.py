"""Plans carried out: models side by side, nothing twice, nothing lost."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from groundwire import ConfigError, Failure, FailureKind
from groundwire.evals.contestants import Contestant
from groundwire.evals.planning import EvalModel, Plan, SamplingProfile, Strategy
from groundwire.evals.records import EvalRun, Status, decode_record, encode_record
from groundwire.evals.running import MAX_ATTEMPTS, PAUSES, EvalRunner
from groundwire.evals.scenarios import Scenario, Suite, TextCheck
from groundwire.evals.simulated import BEHAVIOURS, FLAKY_RATE, simulated_models
from groundwire.evals.statistics import summarise
from groundwire.evals.suites import WORKSPACE
from groundwire.evals.suites.workspace import SMOKE
from groundwire.runtime.clock import SystemClock
from groundwire.runtime.runs.presets import PRESETS
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider

SCENARIO = Scenario(id="hello", turns=("Hello",), checks=(TextCheck(equals="Hi."),))
SUITE = Suite(name="one", scenarios=(SCENARIO,))
DEFAULT = SamplingProfile(id="default")
OFF = Strategy(id="fallback_off")
ON = Strategy(id="fallback_on", settings=PRESETS["content_tag_tool_call_fallback"]())


def plan_of(*models, trials=2, suite=SUITE, scenarios=None, profiles=(DEFAULT,), strategies=(OFF,), **options):
    chosen = suite.scenarios if scenarios is None else tuple(one for one in suite.scenarios if one.id in scenarios)
    run = EvalRun(
        run_id="r",
        suite=suite.name,
        models=tuple(model.id for model in models),
        profiles=tuple(profile.id for profile in profiles),
        strategies=tuple(strategy.id for strategy in strategies),
        scenarios=tuple(scenario.id for scenario in chosen),
        trials=trials,
        seed=1,
    )
    return Plan(
        run=run, suite=suite, scenarios=chosen, models=models, profiles=profiles, strategies=strategies, **options
    )


def reaching(answer, seen=None, price=None):
    """Every model answers by this function."""

    @asynccontextmanager
    async def reach(model, scenario):
        if seen is not None:
            seen.append((model.id, scenario.id))
        yield Contestant(
            name=model.id, models=ScriptedProvider(ScriptedModel(otherwise=answer), clock=SystemClock()), price=price
        )

    return reach


LOOK = Answer(calls=(Ask("state_get", {}),))


def hi(_request):
    return Answer("Hi.")


A, B = EvalModel(id="a"), EvalModel(id="b")


async def test_every_trial_of_the_plan_is_carried_out_once_and_told_in_the_plan_s_order():
    seen, kept, progress = [], [], []
    plan = plan_of(A, B, strategies=(OFF, ON))
    runner = EvalRunner(plan, reaching(hi, seen), jobs=2, on_record=kept.append, on_progress=progress.append)
    finished = await runner.run()
    assert [record.trial for record in finished.records] == plan.trials()
    assert (len(seen), len(kept), finished.left) == (8, 8, 0)
    assert [(one.done, one.total) for one in progress] == [(number, 8) for number in range(1, 9)]
    assert (progress[-1].passed, progress[-1].failed, progress[-1].invalid) == (8, 0, 0)


async def test_what_is_done_is_not_done_again():
    seen = []
    plan = plan_of(A, trials=3)
    first = await EvalRunner(plan, reaching(hi)).run()
    done = {record.trial.name: record for record in first.records[:2]}
    finished = await EvalRunner(plan, reaching(hi, seen), done=done).run()
    assert len(seen) == 1
    assert finished.records[:2] == first.records[:2]
    assert len(finished.records) == 3


async def test_records_of_other_plans_are_not_counted():
    first = await EvalRunner(plan_of(B), reaching(hi)).run()
    finished = await EvalRunner(plan_of(A), reaching(hi), done={one.trial.name: one for one in first.records}).run()
    assert {record.trial.model for record in finished.records} == {"a"}


class MemoryCache(dict):
    def find(self, digest):
        return self.get(digest)

    def keep(self, record):
        self[record.digest] = record


async def test_a_result_is_used_again_while_all_that_it_depends_on_is_the_same():
    cache, seen = MemoryCache(), []
    for plan in (plan_of(A), plan_of(A), plan_of(A, settings={"fix_empty_final": False}), plan_of(B)):
        await EvalRunner(plan, reaching(hi, seen), cache=cache).run()
    assert Counter(model for model, _ in seen) == {"a": 4, "b": 2}


def busy(failures):
    def answer(_request):
        if failures:
            return Answer(failure=failures.pop())
        return Answer("Hi.")

    return answer


BUSY = Failure(kind=FailureKind.RATE_LIMIT, message="later", status=429)


@pytest.mark.requirement("C-063")
@pytest.mark.parametrize(("times", "status"), [(MAX_ATTEMPTS - 1, Status.PASSED), (MAX_ATTEMPTS, Status.INVALID)])
async def test_a_busy_provider_is_waited_for_and_not_for_ever(times, status):
    clock = FakeClock()
    runner = EvalRunner(plan_of(A, trials=1), reaching(busy([BUSY] * times)), clock=clock)
    task = asyncio.create_task(runner.run())
    for pause in PAUSES[: min(times, MAX_ATTEMPTS - 1)]:
        await clock.until_asleep()
        clock.advance(pause)
    (record,) = (await task).records
    assert (record.status, record.attempts) == (status, MAX_ATTEMPTS)


async def test_what_spoilt_attempts_cost_is_part_of_the_price():
    answers = iter([LOOK, Answer(failure=BUSY), LOOK, Answer("Hi.")])
    clock = FakeClock()
    reach = reaching(lambda _request: next(answers), price=lambda model, usage: 0.5)
    task = asyncio.create_task(EvalRunner(plan_of(A, trials=1), reach, clock=clock).run())
    await clock.until_asleep()
    clock.advance(PAUSES[0])
    (record,) = (await task).records
    assert (record.status, record.attempts, record.cost) == (Status.PASSED, 2, 1.5)


async def test_what_waiting_does_not_help_is_not_tried_again():
    refused = Failure(kind=FailureKind.AUTHENTICATION, message="no", status=401)
    (record,) = (await EvalRunner(plan_of(A, trials=1), reaching(busy([refused] * 9))).run()).records
    assert (record.status, record.attempts) == (Status.INVALID, 1)


@pytest.mark.parametrize(("budget", "carried_out"), [(2.99, 3), (3.0, 3), (3.01, 4)])
async def test_a_budget_that_is_spent_ends_the_run_in_good_order(budget, carried_out):
    runner = EvalRunner(plan_of(A, trials=9), reaching(hi, price=lambda model, usage: 1.0), max_cost=budget)
    finished = await runner.run()
    assert (len(finished.records), finished.left) == (carried_out, 9 - carried_out)
    assert finished.reason == "the budget is spent"


@pytest.mark.requirement("C-071", "C-072", "C-121")
@pytest.mark.parametrize(
    ("enforced", "expected"), [(True, {("a/x", "all"), ("a/x", "only_a"), ("b/x", "all")}), (False, None)]
)
def test_a_profile_runs_only_on_models_that_it_fits_unless_that_is_switched_off(enforced, expected):
    models = (EvalModel(id="a/x"), EvalModel(id="b/x"))
    profiles = (SamplingProfile(id="all"), SamplingProfile(id="only_a", applies_to=("a/*",)))
    planned = plan_of(*models, trials=1, profiles=profiles, enforce_applicability=enforced).trials()
    assert {(trial.model, trial.profile) for trial in planned} == (
        expected or {(m.id, p.id) for m in models for p in profiles}
    )


async def test_the_profile_s_sampling_and_the_settings_of_model_strategy_and_run_reach_the_model():
    seen = []

    def look(request):
        seen.append(request)
        return Answer("Hi.")

    warm = SamplingProfile(id="warm", temperature=0.7, top_p=0.9, top_k=40, min_p=0.05)
    model = EvalModel(id="a", presets=("content_tag_tool_call_fallback",))
    await EvalRunner(plan_of(model, trials=1, profiles=(warm,)), reaching(look)).run()
    (request,) = seen
    assert (request.sampling.temperature, request.sampling.top_p, request.sampling.top_k) == (0.7, 0.9, 40)


def simulated(*names):
    return tuple(EvalModel(id=name, is_simulated=True) for name in names)


async def run_simulated(plan, **options):
    async with simulated_models([WORKSPACE]) as models:

        @asynccontextmanager
        async def reach(model, _scenario):
            yield Contestant(name=f"simulated/{model.id}", models=models)

        return await EvalRunner(plan, reach, **options).run()


def verdicts(finished):
    return [(record.trial.name, record.status, record.code, record.text, record.state) for record in finished.records]


def expected_rate(model, strategy, scenario):
    if model == "perfect":
        return 1.0
    if model == "flaky":
        return FLAKY_RATE
    if model == "long-arguments":
        return 0.0 if scenario == "long_arguments_guard" else 1.0
    if model == "tags":
        return 1.0 if strategy == "fallback_on" or scenario == "chat_only" else 0.0
    return 0.0


def matrix(trials):
    """5 models × 3 profiles × 2 strategies × 6 scenarios."""
    return plan_of(
        *simulated(*BEHAVIOURS),
        trials=trials,
        suite=WORKSPACE,
        scenarios=(*SMOKE, "happy_path_parallel"),
        profiles=(DEFAULT, SamplingProfile(id="cold", temperature=0.0), SamplingProfile(id="warm", temperature=1.0)),
        strategies=(OFF, ON),
    )


@pytest.mark.requirement("C-064", "C-119", "C-063", "C-118")
async def test_each_simulated_model_gets_the_verdict_that_its_weakness_deserves_with_one_worker_or_four():
    one, four = await run_simulated(matrix(trials=2)), await run_simulated(matrix(trials=10), jobs=4)
    assert verdicts(one) == [
        verdict for verdict, made in zip(verdicts(four), four.records, strict=True) if made.trial.number <= 2
    ]

    summary = summarise(four.records)
    assert (len(summary.cells), summary.overall.scored) == (5 * 3 * 2 * 6, 5 * 3 * 2 * 6 * 10)
    covered = 0
    for cell in summary.cells:
        rate = expected_rate(cell.model, cell.strategy, cell.scenario)
        covered += cell.interval.low <= rate <= cell.interval.high
        if cell.model != "flaky":
            assert cell.rate == rate, cell
    assert covered >= 0.9 * len(summary.cells)
    flaky = [cell for cell in summary.cells if cell.model == "flaky"]
    assert sum(cell.interval.low <= FLAKY_RATE <= cell.interval.high for cell in flaky) >= 0.9 * len(flaky)
    (overall,) = (cell for cell in summary.models if cell.model == "flaky")
    assert overall.interval.low <= FLAKY_RATE <= overall.interval.high


@pytest.mark.parametrize("error", [ConfigError("There is no folder."), OSError(28, "No space left on device")])
async def test_what_ends_a_run_is_raised_as_it_was(error):
    def refuse(_record):
        raise error

    with pytest.raises(type(error)) as caught:
        await EvalRunner(plan_of(A, B), reaching(hi), jobs=2, on_record=refuse).run()
    assert caught.value is error


def test_a_record_survives_being_written():
    record = asyncio.run(EvalRunner(plan_of(A, trials=1), reaching(hi)).run()).records[0]
    assert decode_record(encode_record(record)) == record
    assert replace(record, text="x") != record
