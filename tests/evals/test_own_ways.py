"""Suites that carry out their trials themselves, with models, options and totals of their own."""

from datetime import UTC, datetime

import msgspec
import pytest

from groundwire import Agent, ConfigError, Sampling, Settings
from groundwire.assembly import ProviderSettings
from groundwire.evals import Conversed, Finding, FunctionCheck, RubricCheck, Scenario, Suite, Total
from groundwire.evals.evaluating import evaluate
from groundwire.evals.forecasting import forecast
from groundwire.evals.knobs import Knobs
from groundwire.evals.preparing import prepare, prepare_again
from groundwire.evals.reports import ReportFolder
from groundwire.providers.catalogue import ModelEntry
from groundwire.providers.retries import RetryPolicy
from groundwire.testing import Answer, Fault, FaultKind, ModelFaults, ScriptedModel, simulator

NOW = datetime(2026, 2, 7, 12, 36, 28, tzinfo=UTC)


def twice(evidence):
    return Finding(check="twice", passed=evidence.state == {"said": 2}, code="once", counts={"said": 2, "wanted": 2})


TWICE = (FunctionCheck(function=twice),)


def suite_of(*, concluded=None, **known):
    """Each trial is two runs of the model, of which the second is told what the first said."""

    async def converse(scenario, contestant, seed):
        agent = Agent(contestant.name, models=contestant.models, sampling=contestant.sampling, price=contestant.price)
        async with agent:
            first = await agent.run(scenario.turns[0])
            second = await agent.run("Again.", history=first.history)
        return Conversed(results=(first, second), conversation=second.history, text="both", state={"said": 2})

    async def conclude(records, folder):
        if concluded is not None:
            concluded.append((len(records), folder))
        return tuple(Total(model=record.trial.model, name="said", count=2, of=3) for record in records)

    return Suite(
        name="twofold",
        scenarios=(
            Scenario(id="a", turns=("Say it.",), checks=(FunctionCheck(function=twice),)),
            Scenario(id="b", turns=("Say that.",)),
        ),
        converse=converse,
        conclude=conclude,
        **{"models": {"parrot": lambda scenario: lambda request: Answer(f"{scenario.id}!")}, **known},
    )


async def carried_out(tmp_path, suite, settings=None, environ=None, **knobs):
    settings = settings or Settings()
    plan = prepare(Knobs(suite="twofold", **knobs), settings, now=NOW, suites={"twofold": lambda options: suite})
    folder = ReportFolder.create(tmp_path, plan.run, now=NOW)
    return plan, folder, await evaluate(plan, folder, settings, environ or {})


async def test_a_trial_is_what_the_suite_makes_of_it(tmp_path):
    _, _, done = await carried_out(tmp_path, suite_of())
    first = done.finished.records[0]
    assert (first.status, first.text, first.state, first.steps) == ("passed", "both", {"said": 2}, 2)
    assert [item["parts"][0]["text"] for item in first.conversation] == ["Say it.", "a!", "Again.", "a!"]
    assert len(set(first.run_ids)) == 2
    assert first.tokens.input > 0
    assert first.cost == 0.0


async def test_its_first_own_model_is_tried_alone_unless_others_are_named(tmp_path):
    suite = suite_of(models={name: lambda _: lambda _: Answer("x") for name in ("parrot", "rules")})
    plan, _, _ = await carried_out(tmp_path, suite)
    assert plan.run.models == ("parrot",)
    plan, _, _ = await carried_out(tmp_path / "other", suite, models="rules,parrot")
    assert plan.run.models == ("parrot", "rules")


async def test_simulated_models_that_ship_are_not_offered_beside_a_suites_own(tmp_path):
    with pytest.raises(ConfigError) as caught:
        await carried_out(tmp_path, suite_of(), models="perfect")
    assert caught.value.message == "There is no model 'perfect'."


async def test_totals_are_in_the_summary_the_report_and_the_page(tmp_path):
    concluded = []
    _, folder, done = await carried_out(tmp_path, suite_of(concluded=concluded))
    assert concluded == [(2, folder.path)]
    assert [(total.name, total.count, total.of) for total in done.summary.totals] == [("said", 2, 3)] * 2
    stored = msgspec.json.decode(folder.summary_file.read_bytes())
    assert stored["totals"][0] == {"name": "said", "count": 2, "of": 3, "model": "parrot"}
    assert "| said | 2/3 | 66.7 % |" in folder.markdown_file.read_text()
    assert "66.7 %" in folder.page_file.read_text()


async def test_a_total_of_nothing_has_no_share():
    assert Total(name="x", count=0, of=0).share is None


async def test_what_was_done_is_not_done_again_unless_a_source_has_changed(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "prompt.md").write_text("one")
    suite = suite_of(sources=(source,))
    plan, folder, done = await carried_out(tmp_path / "reports", suite)
    again = await evaluate(plan, folder, Settings(), {})
    assert [one.started_at for one in again.finished.records] == [one.started_at for one in done.finished.records]
    (source / "prompt.md").write_text("two")
    changed = await evaluate(plan, folder, Settings(), {})
    assert {one.digest for one in changed.finished.records}.isdisjoint(one.digest for one in done.finished.records)


async def test_options_reach_the_suite_and_a_run_that_is_gone_on_with_has_them_still():
    seen = []

    def make(options):
        seen.append(options)
        return suite_of()

    knobs = Knobs(suite="twofold", options={"colour": "red"})
    plan = prepare(knobs, Settings(), now=NOW, suites={"twofold": make})
    assert (plan.options, plan.run.asked["options"]) == ({"colour": "red"}, {"colour": "red"})
    prepare_again(plan.run, Settings(), now=NOW, suites={"twofold": make})
    assert seen == [{"colour": "red"}, {"colour": "red"}]


def test_a_suite_without_options_refuses_them():
    with pytest.raises(ConfigError) as caught:
        prepare(Knobs(suite="workspace", options={"colour": "red"}), Settings(), now=NOW)
    assert caught.value.message == "The suite 'workspace' has no options, and 'colour' is one."


async def test_a_suites_sampling_holds_unless_a_profile_says_otherwise(tmp_path):
    suite = suite_of(sampling=Sampling(temperature=0.1, top_p=0.5))
    _, _, done = await carried_out(tmp_path, suite, profiles="default,conversation")
    said = {record.trial.profile: record.sampling for record in done.finished.records}
    assert said["default"] == {"temperature": 0.1, "top_p": 0.5}
    assert said["conversation"] == {"temperature": 0.8, "top_p": 0.95}


async def test_a_plan_is_measured_with_the_suites_first_model():
    plan = prepare(Knobs(suite="twofold"), Settings(), now=NOW, suites={"twofold": lambda _: suite_of()})
    (one,) = await forecast(plan)
    assert (one.model, one.trials, one.cost) == ("parrot", 2, 0.0)
    assert one.tokens.output > 0


async def test_rubrics_of_a_suite_are_asked_about_real_models_only(tmp_path):
    def answer(request):
        return Answer('{"yes": false, "why": "rude"}' if request.output is not None else "Hm.")

    suite = suite_of(rubrics=(RubricCheck(question="Polite?", votes=1),), judge="gemini-pro")
    async with simulator(model=ScriptedModel(otherwise=answer)) as server:
        gemini = ProviderSettings(dialect="gemini", base_url=server.gemini_url)
        settings = Settings(providers={"gemini": gemini})
        _, _, done = await carried_out(tmp_path, suite, settings, models="gemini-pro,parrot")
    codes = {record.trial.model: record.code for record in done.finished.records}
    assert codes == {"gemini-3.1-pro-preview": "rubric", "parrot": ""}


async def test_a_provider_that_fails_makes_a_trial_invalid_and_nobody_else_is_blamed(tmp_path):
    failing = ModelFaults(rate=1.0, faults=(Fault(kind=FaultKind.STATUS, status=401),))
    async with simulator(model=ScriptedModel(faults=failing)) as server:
        gemini = ProviderSettings(dialect="gemini", base_url=server.gemini_url, retry=RetryPolicy(first=0.0))
        settings = Settings(providers={"gemini": gemini})
        _, _, done = await carried_out(tmp_path, suite_of(), settings, models="gemini-pro")
    assert {(one.status, one.blame) for one in done.finished.records} == {("invalid", "provider")}


@pytest.mark.requirement("A-122", "A-123", "A-128", "OQ-13")
def test_an_alias_that_the_settings_move_is_another_model_to_try():
    entry = ModelEntry(id="gemini-4-pro", provider="gemini", aliases=("gemini-pro",))
    suites = {"twofold": lambda _: suite_of()}
    knobs = Knobs(suite="twofold", models="gemini-pro")
    before = prepare(knobs, Settings(), now=NOW, suites=suites)
    after = prepare(knobs, Settings(models=(entry,)), now=NOW, suites=suites)
    assert before.run.models == ("gemini-3.1-pro-preview",)
    assert after.run.models == ("gemini-4-pro",)


def test_models_that_are_built_in_are_tried_by_name_and_are_none_of_all():
    plan = prepare(Knobs(models="all", live=True), Settings(), now=NOW)
    assert "gemini-3.1-pro-preview" not in plan.run.models
