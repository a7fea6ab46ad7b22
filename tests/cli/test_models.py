"""`groundwire models`: what is set up, without a key in sight."""

import json
from pathlib import Path

import pytest

VENDORS = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OPENROUTER")
CONFIG = """
defaultProvider = "house"

[providers.house]
baseUrl = "http://me:hunter2@127.0.0.1:9/v1?key=hunter3"
keyEnv = "HOUSE_KEY"

[[models]]
id = "big"
provider = "house"
model = "qwen3-235b"
aliases = ["best"]
capabilities = ["vision", "tools"]
toolCalling = "reliable"
contextTokens = 131072
prices = { input = 1.5, output = 6 }
"""


@pytest.fixture(autouse=True)
def no_vendor(monkeypatch):
    for vendor in VENDORS:
        for what in ("API_KEY", "BASE_URL"):
            monkeypatch.delenv(f"{vendor}_{what}", raising=False)


@pytest.fixture
def house(empty):
    Path("groundwire.toml").write_text(CONFIG)


def test_with_nothing_set_up_the_built_in_model_is_the_default(empty, run_json):
    listed = run_json("models")
    assert listed["providers"] == [
        {"name": "sim", "dialect": "", "baseUrl": "", "hasKey": False, "keyEnv": "", "isDefault": True}
    ]
    assert [(entry["id"], entry["reachable"]) for entry in listed["models"]] == [
        ("sim", True),
        ("gemini-3.1-pro-preview", False),
        ("gemini-3-flash-preview", False),
    ]


def test_a_provider_whose_key_is_missing_is_listed_with_the_variable_that_it_wants(house, run):
    listed = json.loads(run("models", "--json").stdout)
    assert listed["problems"] == ["The provider 'house' wants its key in HOUSE_KEY, which is not set."]
    (model,) = [entry for entry in listed["models"] if entry["id"] == "big"]
    assert (model["reachable"], model["aliases"], model["prices"]["input"]) == (False, ["best"], 1.5)
    shown = run("models").stdout
    assert "HOUSE_KEY is not set" in shown
    assert "big" in shown
    assert "$1.5 in, $6 out per million" in shown
    assert "tools, vision" in shown


def test_a_key_is_known_to_be_there_and_never_shown(house, run, run_json, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", "sk-secret")
    monkeypatch.setenv("GEMINI_API_KEY", "g-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8742/v1")
    listed = run_json("models")
    assert [(info["name"], info["hasKey"], info["isDefault"]) for info in listed["providers"]] == [
        ("sim", False, False),
        ("openai", False, False),
        ("gemini", True, False),
        ("house", True, True),
    ]
    assert listed["providers"][3]["baseUrl"] == "http://127.0.0.1:9/v1"
    assert all(entry["reachable"] for entry in listed["models"])
    printed = json.dumps(listed) + run("models").stdout
    assert [secret for secret in ("sk-secret", "g-secret", "hunter") if secret in printed] == []


BROKEN = """
defaultProvider = "hose"

[providers.house]
baseUrl = "127.0.0.1:9"

[providers.shed]
baseUrl = "http://127.0.0.1:9"
profile = { mergeSameRoles = true }

[simulator]
script = "gone.json"

[[models]]
id = "big"
provider = "house"
"""


def test_everything_that_keeps_models_from_being_opened_is_told_behind_the_lists(empty, run, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    monkeypatch.setenv("GEMINI_API_KEY", "g-secret")
    Path("groundwire.toml").write_text(BROKEN)
    done = run("models")
    assert done.exit_code == 1
    assert [word for word in ("house", "shed", "gemini", "big") if word not in done.stdout] == []
    told = [line.removeprefix("error[config_error]: ") for line in done.stderr.splitlines()]
    assert told == [
        "OPENAI_BASE_URL must be an address with http:// or https://, not 'nowhere'.",
        "providers.house.baseUrl must be an address with http:// or https://, not '127.0.0.1:9'.",
        "providers.shed.profile.mergeSameRoles: there is no such name",
        "The script gone.json cannot be read: No such file or directory.",
        "The default provider 'hose' is not set up.",
    ]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ('[[models]]\nid = "a"\nprovider = "nobody"\n', "The model 'a' is asked at 'nobody', which is no provider."),
        ('[[models]]\nid = "a"\nprovider = "sim"\n' * 2, "The model 'a' is there twice."),
        (
            '[providers.h]\nbaseUrl = "http://x"\n[[models]]\nid = "a"\nprovider = "h"\nfallbacks = ["gemni-flash"]\n',
            "The model 'a' falls back to 'gemni-flash', which is not known.",
        ),
    ],
)
def test_entries_that_lead_nowhere_are_told_and_still_listed(empty, run, config, problem):
    Path("groundwire.toml").write_text(config)
    done = run("models")
    assert (done.exit_code, done.stderr) == (1, f"error[config_error]: {problem}\n")
    assert "\na " in done.stdout


def test_an_alias_that_was_moved_is_shown_only_where_it_leads(empty, run_json):
    Path("groundwire.toml").write_text('[[models]]\nid = "next"\nprovider = "gemini"\naliases = ["gemini-pro"]\n')
    listed = {entry["id"]: entry["aliases"] for entry in run_json("models")["models"]}
    assert (listed["gemini-3.1-pro-preview"], listed["next"]) == ([], ["gemini-pro"])


@pytest.mark.parametrize("name", ["my/house", "my house", "my:house", ""])
def test_a_provider_whose_name_could_not_be_named_is_refused(empty, run, name):
    Path("groundwire.toml").write_text(f'[providers."{name}"]\nbaseUrl = "http://127.0.0.1:9"\n')
    done = run("models")
    assert done.exit_code == 1
    assert f"error[config_error]: groundwire.toml: providers: {name!r} is no name for a provider\n" in done.stderr


def test_a_wrong_setting_is_told_with_the_name_of_its_provider(empty, run):
    fine = '[providers.fine]\nbaseUrl = "http://x"\n'
    Path("groundwire.toml").write_text(f'{fine}[providers.house]\nbaseUrl = "http://x"\nretry = {{ attempts = 0 }}\n')
    assert "groundwire.toml: providers.house.retry.attempts: it must be" in run("models").stderr
