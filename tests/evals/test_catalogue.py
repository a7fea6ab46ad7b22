"""Models, profiles and strategies that ship, and those that people add."""

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.evals.catalogue import MODELS, SHIPPED, load_catalogue, model, open_catalogue, profile, read_catalogue
from groundwire.evals.planning import EvalModel
from groundwire.evals.simulated import BEHAVIOURS
from groundwire.providers.catalogue import ModelEntry, Prices, ToolCalling
from groundwire.runtime.runs.presets import PRESETS

BY_ID = {entry.id: entry for entry in MODELS}
PROFILES = {entry.id: entry for entry in SHIPPED.profiles}


@pytest.mark.requirement("C-089", "C-091", "C-092", "C-094", "C-095", "C-097", "C-098", "C-099", "C-102")
@pytest.mark.parametrize(
    "model_id",
    [
        "qwen/qwen3-next-80b-a3b-instruct:nitro",
        "qwen/qwen3-30b-a3b-instruct-2507:nitro",
        "google/gemini-2.5-flash:nitro",
        "google/gemini-3-flash-preview:nitro",
        "google/gemini-3-pro-preview:nitro",
        "anthropic/claude-opus-4.6:nitro",
        "openai/gpt-5.2:nitro",
        "deepseek/deepseek-v3.2:nitro",
        "x-ai/grok-4.1-fast",
    ],
)
def test_every_model_of_the_reference_run_ships(model_id):
    entry = BY_ID[model_id]
    assert (entry.base_id, entry.provider) == (model_id.partition(":")[0], model_id.partition("/")[0])
    assert (entry.via, entry.is_simulated) == ("openrouter", False)


@pytest.mark.requirement("C-090", "C-127")
def test_a_model_that_writes_calls_as_text_has_the_fallback():
    assert BY_ID["qwen/qwen3-235b-a22b-2507:nitro"].presets == ("content_tag_tool_call_fallback",)
    assert BY_ID["deepseek/deepseek-v3.2:nitro"].presets == ("deepseek_openrouter_compat",)
    assert BY_ID["google/gemini-2.5-flash:nitro"].presets == ("gemini_openrouter_compat",)
    assert all(name in PRESETS for entry in MODELS for name in entry.presets)


@pytest.mark.requirement("C-096", "C-193")
def test_models_that_were_near_perfect_are_marked_reliable():
    reliable = [entry.id for entry in MODELS if entry.tool_calling is ToolCalling.RELIABLE]
    assert len(reliable) == 7
    assert not {"deepseek/deepseek-v3.2:nitro", "x-ai/grok-4.1-fast"} & {*reliable}


@pytest.mark.requirement("C-072", "C-093", "C-103", "C-104", "C-105")
@pytest.mark.parametrize(
    ("profile_id", "suits"),
    [
        (
            "qwen_recommended",
            [
                "qwen/qwen3-next-80b-a3b-instruct:nitro",
                "qwen/qwen3-235b-a22b-2507:nitro",
                "qwen/qwen3-30b-a3b-instruct-2507:nitro",
            ],
        ),
        ("gemini_2_5_flash_creative", ["google/gemini-2.5-flash:nitro"]),
        ("deepseek_v3_2_local_recommended", ["deepseek/deepseek-v3.2:nitro"]),
        ("deepseek_v3_2_creative_writing", ["deepseek/deepseek-v3.2:nitro"]),
        ("default", [entry.id for entry in MODELS]),
    ],
)
def test_a_profile_suits_the_models_that_it_was_made_for(profile_id, suits):
    assert [entry.id for entry in MODELS if PROFILES[profile_id].fits(entry)] == suits


def test_models_that_refuse_sampling_get_none():
    refusing = [BY_ID["openai/gpt-5.2:nitro"], BY_ID["anthropic/claude-opus-4.6:nitro"]]
    assert [entry.id for entry in SHIPPED.profiles if any(map(entry.fits, refusing))] == ["default"]


def test_every_simulated_model_of_the_catalogue_can_be_simulated():
    assert [entry.id for entry in MODELS if entry.is_simulated] == [*BEHAVIOURS, "rules"]


@pytest.mark.requirement("C-074")
def test_an_entry_says_what_its_id_says_anyway():
    assert model("acme/rocket-1:fast", "mine", prices=(1.0, 2.0)) == EvalModel(
        id="acme/rocket-1:fast",
        base_id="acme/rocket-1",
        provider="acme",
        tags=("mine",),
        prices=Prices(input=1.0, output=2.0),
    )
    assert profile("warm", "mine", temperature=0.9).sampling().temperature == 0.9


def test_own_entries_come_from_toml_and_one_with_a_known_id_takes_its_place(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text("""
[[models]]
id = "acme/rocket-1:fast"
tags = ["stable"]
via = "acme"
prices = { input = 1.0, output = 2.0 }
presets = ["content_tag_tool_call_fallback"]

[[models]]
id = "openai/gpt-5.2:nitro"
note = "ours"

[[profiles]]
id = "warm"
temperature = 0.9
appliesTo = ["acme/*"]

[[strategies]]
id = "strict"
settings = { tool_use_mode = "enforced" }
""")
    catalogue = open_catalogue((), {}, str(file))
    own = {entry.id: entry for entry in catalogue.models}
    added = own["acme/rocket-1:fast"]
    assert (added.provider, added.base_id) == ("acme", "acme/rocket-1")
    assert own["openai/gpt-5.2:nitro"].note == "ours"
    assert len(catalogue.models) == len(open_catalogue((), {}).models) + 1
    assert catalogue.profiles[-1].fits(own["acme/rocket-1:fast"])
    assert catalogue.strategies[-1].settings == {"tool_use_mode": "enforced"}


@pytest.mark.requirement("C-074")
def test_own_entries_come_from_python(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "from groundwire.evals.catalogue import model, profile\n"
        "models = [model('acme/rocket-1', 'mine')]\n"
        "profiles = [profile('warm', temperature=0.9)]\n"
    )
    catalogue = load_catalogue(file)
    assert [entry.id for entry in catalogue.models] == ["acme/rocket-1"]
    assert [entry.temperature for entry in catalogue.profiles] == [0.9]


def test_models_of_the_settings_can_be_tried_too():
    entry = ModelEntry(id="house", provider="acme", model="rocket-1", tags=("own",), prices=Prices(input=1, output=2))
    own = open_catalogue([entry], {}).models[-1]
    assert (own.id, own.via, own.provider, own.base_id, own.tags) == ("house", "acme", "acme", "rocket-1", ("own",))
    assert own.prices == Prices(input=1, output=2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"models": [{"idd": "x"}]}, "evals: models[0].idd: there is no such name"),
        ({"models": [{"id": "x", "tags": "stable"}]}, "evals: models[0].tags: expected `array`, got `str`"),
        ({"model": []}, "evals: model: there is no such name"),
        ({"models": [{"id": "a,b"}]}, "evals: models: 'a,b' is no name: it is empty or has one of , ! *"),
        ({"models": [{"id": ""}]}, "evals: models: '' is no name: it is empty or has one of , ! *"),
        ({"profiles": [{"id": "x"}, {"id": "x"}]}, "evals: profiles: 'x' is there twice"),
        ({"models": [{"id": "x", "isSimulated": True}]}, "evals: models: 'x' cannot be simulated"),
        ({"models": [{"id": "x", "presets": ["content_tag"]}]}, "evals: x: there is no preset 'content_tag'"),
        (
            {"strategies": [{"id": "x", "settings": {"tool_use_mod": "y"}}]},
            "evals: x: settings: tool_use_mod: there is no such name",
        ),
    ],
)
def test_an_entry_that_is_wrong_is_refused_by_name(values, message):
    with pytest.raises(ConfigError) as caught:
        read_catalogue(values, "evals")
    assert caught.value.message == message


def test_a_file_without_any_entry_is_refused(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("x = 1\n")
    with pytest.raises(ConfigError, match="it defines none of models, profiles and strategies"):
        load_catalogue(file)
