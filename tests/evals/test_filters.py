"""Choosing models, profiles, strategies and scenarios by name."""

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.evals.catalogue import SHIPPED
from groundwire.evals.filters import choose_models, choose_profiles, choose_scenarios, choose_strategies
from groundwire.evals.scenarios import Scenario, Suite
from groundwire.evals.suites import WORKSPACE

SMOKE = ["happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only"]


def models(text, **options):
    return [model.id for model in choose_models(SHIPPED.models, text, **options)]


def profiles(text):
    return [profile.id for profile in choose_profiles(SHIPPED.profiles, text)]


def scenarios(text, suite=WORKSPACE):
    return [scenario.id for scenario in choose_scenarios(suite, text)]


@pytest.mark.requirement("C-067")
def test_a_full_id_chooses_that_model_alone():
    assert models("openai/gpt-5.2:nitro") == ["openai/gpt-5.2:nitro"]


@pytest.mark.requirement("C-068")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("openai,anthropic", ["anthropic/claude-opus-4.6:nitro", "openai/gpt-5.2:nitro"]),
        ("google/gemini-2.5-flash", ["google/gemini-2.5-flash:nitro"]),
        ("preview", ["google/gemini-3-flash-preview:nitro", "google/gemini-3-pro-preview:nitro"]),
        (" OpenAI , x-ai ", ["openai/gpt-5.2:nitro", "x-ai/grok-4.1-fast"]),
        ("openai,openai/gpt-5.2:nitro", ["openai/gpt-5.2:nitro"]),
    ],
)
def test_terms_match_ids_base_ids_vendors_and_tags_and_each_model_comes_once(text, found):
    assert models(text) == found


@pytest.mark.requirement("C-069")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "google,!google/gemini-3-pro-preview:*",
            ["google/gemini-2.5-flash:nitro", "google/gemini-3-flash-preview:nitro"],
        ),
        ("*-flash*", ["google/gemini-2.5-flash:nitro", "google/gemini-3-flash-preview:nitro"]),
        ("!google,google,openai", ["openai/gpt-5.2:nitro"]),
        ("simulated,! flaky,!tags,!empty-*,!long*,!rules", ["perfect"]),
    ],
)
def test_a_star_stands_for_anything_and_an_exclamation_mark_excludes(text, found):
    assert models(text) == found


@pytest.mark.requirement("C-075", "C-078")
def test_without_a_filter_the_stable_set_is_chosen_and_it_is_cheap():
    chosen = choose_models(SHIPPED.models, "")
    assert [model.id for model in chosen] == [
        "qwen/qwen3-next-80b-a3b-instruct:nitro",
        "qwen/qwen3-235b-a22b-2507:nitro",
        "qwen/qwen3-30b-a3b-instruct-2507:nitro",
        "google/gemini-2.5-flash:nitro",
        "google/gemini-3-flash-preview:nitro",
    ]
    assert all(model.prices.output <= 3 for model in chosen)
    assert models("!google") == [model.id for model in chosen if model.provider == "qwen"]


@pytest.mark.requirement("C-076")
def test_all_are_all_real_models_and_simulated_ones_are_named():
    assert models("all") == [model.id for model in SHIPPED.models if not model.is_simulated]
    assert models("all,perfect")[-1] == "perfect"
    assert models("simulated") == ["perfect", "flaky", "long-arguments", "tags", "empty-finals", "rules"]
    assert models("", default="simulated") == models("simulated")


@pytest.mark.parametrize("text", ["opnai", "openai,!gemini-3-porp"])
def test_a_name_that_matches_nothing_is_refused_also_behind_an_exclamation_mark(text):
    with pytest.raises(ConfigError, match="There is no model '") as caught:
        models(text)
    assert caught.value.hint.startswith("did you mean ")


def test_a_filter_that_leaves_nobody_is_refused():
    with pytest.raises(ConfigError, match="'openai,!openai' leaves no model"):
        models("openai,!openai")


@pytest.mark.requirement("C-071", "C-120", "C-073")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["default"]),
        ("recommended", ["qwen_recommended", "deepseek_v3_2_local_recommended"]),
        ("creative", ["creative", "deepseek_v3_2_creative_writing", "gemini_2_5_flash_creative"]),
        ("conversation", ["conversation", "deepseek_v3_2_general_conversation"]),
        ("tool_calling", ["tool_calling"]),
        ("default,qwen_recommended", ["default", "qwen_recommended"]),
    ],
)
def test_profiles_are_chosen_by_id_or_tag(text, found):
    assert profiles(text) == found


@pytest.mark.requirement("C-119")
def test_strategies_are_chosen_by_id():
    chosen = choose_strategies(SHIPPED.strategies, "fallback_off,fallback_on")
    assert [strategy.id for strategy in chosen] == ["fallback_off", "fallback_on"]
    assert [strategy.id for strategy in choose_strategies(SHIPPED.strategies, "")] == ["default"]


@pytest.mark.requirement("C-056", "C-057", "C-058", "C-059", "C-060", "C-065")
@pytest.mark.parametrize("text", ["", "default", "smoke", " , "])
def test_the_default_scenarios_are_the_smoke_preset(text):
    assert scenarios(text) == SMOKE


@pytest.mark.requirement("C-062", "C-065", "C-066")
def test_scenarios_are_a_list_a_preset_both_or_all():
    assert scenarios("missing_workspace_id,happy_path") == ["happy_path", "missing_workspace_id"]
    assert scenarios("default,happy_path_parallel") == [*SMOKE, "happy_path_parallel"]
    assert scenarios("all") == [scenario.id for scenario in WORKSPACE.scenarios]
    assert scenarios("live") == [*SMOKE, "happy_path_parallel"]
    assert len(scenarios("faults")) == 12
    assert scenarios("offline,!invalid_*")[:2] == ["missing_parameter", "unknown_tool"]


def test_a_suite_without_a_default_means_all_of_it():
    suite = Suite(
        name="own", scenarios=(Scenario(id="a", turns=("A",)), Scenario(id="b", turns=("B",), tags=("slow",)))
    )
    assert scenarios("", suite) == ["a", "b"]
    assert scenarios("slow", suite) == ["b"]
    with pytest.raises(ConfigError, match="There is no scenario of own 'smoke'"):
        scenarios("smoke", suite)
