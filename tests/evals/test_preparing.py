"""From knobs to a plan."""

from collections import Counter
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from groundwire import ConfigError, Settings
from groundwire.evals.catalogue import SHIPPED
from groundwire.evals.forecasting import forecast
from groundwire.evals.knobs import Knobs
from groundwire.evals.planning import SamplingProfile
from groundwire.evals.preparing import knobs_of, prepare, prepare_again
from groundwire.evals.records import decode_run, encode_run
from groundwire.providers.catalogue import ModelEntry

NOW = datetime(2026, 2, 7, 12, 36, 28, tzinfo=UTC)
SIMULATED = ("perfect", "flaky", "long-arguments", "tags", "empty-finals", "rules")


def plan_of(settings=None, **knobs):
    return prepare(Knobs(**knobs), settings or Settings(), now=NOW)


@pytest.mark.requirement("C-043", "C-050")
def test_without_a_filter_nobody_real_is_tried():
    plan = plan_of()
    assert plan.run.models == SIMULATED
    assert not plan.run.is_live


@pytest.mark.requirement("C-075")
def test_live_without_a_filter_tries_the_stable_set_and_the_baseline():
    plan = plan_of(live=True)
    stable = tuple(model.id for model in SHIPPED.models if "stable" in model.tags)
    assert plan.run.models == (*stable, "rules")
    assert plan.run.is_live


@pytest.mark.requirement("C-049", "C-077")
def test_a_filter_that_names_real_models_is_enough():
    plan = plan_of(models="openai,anthropic")
    assert plan.run.models == ("anthropic/claude-opus-4.6:nitro", "openai/gpt-5.2:nitro", "rules")
    assert plan.run.is_live


def test_the_baseline_is_always_shown_unless_it_is_excluded():
    assert plan_of(models="perfect").run.models == ("perfect", "rules")
    assert plan_of(models="perfect, !rules").run.models == ("perfect",)


def test_live_with_simulated_models_only_is_a_contradiction():
    with pytest.raises(ConfigError, match="--live asks real models, and 'perfect' names none"):
        plan_of(live=True, models="perfect")


@pytest.mark.requirement("C-072", "C-121")
def test_a_profile_runs_only_on_models_that_it_suits_unless_that_is_switched_off():
    knobs = {"models": "qwen/qwen3-next*,openai,!rules", "profiles": "qwen_recommended", "scenarios": "chat_only"}
    enforced = Counter(trial.model for trial in plan_of(**knobs).trials())
    assert enforced == {"qwen/qwen3-next-80b-a3b-instruct:nitro": 1}
    everywhere = Counter(trial.model for trial in plan_of(**knobs, enforce_applicability=False).trials())
    assert everywhere == {"qwen/qwen3-next-80b-a3b-instruct:nitro": 1, "openai/gpt-5.2:nitro": 1}


def test_a_plan_without_any_trial_is_refused_with_the_reason():
    with pytest.raises(ConfigError, match="Nothing is left to try") as caught:
        plan_of(models="openai,!rules", profiles="qwen_recommended")
    assert "no sampling profile suits a model" in caught.value.hint
    with pytest.raises(ConfigError, match="Nothing is left to try") as caught:
        plan_of(models="openai,!rules", scenarios="faults")
    assert caught.value.hint == "scenarios with faults are for simulated models"


@pytest.mark.requirement("C-122", "C-123")
def test_global_sampling_reaches_every_profile_of_the_plan():
    plan = plan_of(profiles="default,tool_calling", temperature=0.5)
    assert [profile.temperature for profile in plan.profiles] == [0.5, 0.5]
    assert plan.profiles[0] == SamplingProfile(id="default", temperature=0.5)


def test_a_preset_as_suite_is_the_workspace_with_its_scenarios_and_a_filter_wins():
    assert plan_of(suite="faults").run.scenarios[0] == "fault_status_429"
    assert plan_of(suite="faults", scenarios="chat_only").run.scenarios == ("chat_only",)


@pytest.mark.requirement("C-064", "C-119", "C-128")
def test_the_fallback_cannot_be_forced_and_compared_at_once():
    forced = {"response_transforms": ["assistant_content_tool_call_tags_to_tool_calls"]}
    with pytest.raises(ConfigError, match="fallback_off would have it too"):
        prepare(Knobs(strategies="fallback_off,fallback_on", settings=forced), Settings(), now=NOW)


def test_a_limit_of_cost_needs_prices():
    settings = Settings(models=(ModelEntry(id="house", provider="acme"),))
    with pytest.raises(ConfigError, match="A limit of cost means nothing for house"):
        plan_of(settings, models="house", max_cost=1.0)
    assert plan_of(settings, models="house").run.models == ("house", "rules")


def test_a_setting_that_cannot_be_is_refused_before_anything_is_tried():
    with pytest.raises(ConfigError, match="tool_use_mode"):
        prepare(Knobs(settings={"tool_use_mode": "never"}), Settings(), now=NOW)


def test_own_entries_of_the_settings_are_part_of_the_catalogue():
    settings = Settings(evals={"models": [{"id": "acme/rocket-1", "via": "acme", "tags": ["mine"]}]})
    assert plan_of(settings, models="mine").run.models == ("acme/rocket-1", "rules")


def test_a_run_can_be_planned_again_from_its_record_whatever_the_environment_says():
    knobs = Knobs(
        suite="smoke",
        models="perfect,qwen/*",
        profiles="default,recommended",
        trials=3,
        seed=0,
        temperature=0.1,
        settings={"fix_empty_final": False},
    )
    plan = prepare(knobs, Settings(), now=NOW)
    run = decode_run(encode_run(plan.run))
    again = prepare_again(run, Settings(), now=NOW.replace(year=2027))
    assert again == plan
    assert knobs_of(run) == knobs


def test_a_run_whose_catalogue_has_changed_is_not_gone_on_with():
    settings = Settings(evals={"models": [{"id": "acme/rocket-1", "tags": ["mine"]}]})
    run = plan_of(settings, models="mine").run
    more = Settings(
        evals={"models": [{"id": "acme/rocket-1", "tags": ["mine"]}, {"id": "acme/rocket-2", "tags": ["mine"]}]}
    )
    with pytest.raises(ConfigError, match="The run cannot be gone on with: its models were"):
        prepare_again(run, more, now=NOW)


def test_a_record_that_somebody_has_spoilt_is_refused_by_name():
    run = replace(plan_of().run, asked={"trial": 3})
    with pytest.raises(ConfigError, match=r"run\.json: asked: trial: there is no such name"):
        prepare_again(run, Settings(), now=NOW)


def test_notes_say_what_is_special_about_a_model():
    notes = plan_of(models="qwen/qwen3-235b*,perfect").run.notes
    assert notes["qwen/qwen3-235b-a22b-2507:nitro"] == "with content_tag_tool_call_fallback"
    assert notes["perfect"] == "does everything right"


async def test_an_estimate_counts_trials_tokens_and_dollars_without_asking_anybody():
    plan = plan_of(models="openai,x-ai", profiles="default,tool_calling", trials=10)
    priced, unpriced, baseline = await forecast(plan)
    assert (priced.model, priced.trials, priced.profiles) == ("openai/gpt-5.2:nitro", 50, ("default",))
    assert (unpriced.trials, unpriced.profiles, unpriced.cost) == (100, ("default", "tool_calling"), None)
    assert unpriced.tokens.input == 2 * priced.tokens.input
    # Every request repeats instructions and tools: no scenario is smaller than that.
    assert priced.tokens.input > 50 * 300
    assert priced.cost == pytest.approx((priced.tokens.input * 1.75 + priced.tokens.output * 14) / 1_000_000)
    assert baseline.cost == 0.0


def test_knobs_are_written_down_without_their_defaults():
    assert msgspec.to_builtins(Knobs(trials=2)) == {"trials": 2}
