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


def test_a_provider_whose_key_is_missing_is_listed_with_the_variable_that_it_wants(house, run, run_json):
    (model,) = [entry for entry in run_json("models")["models"] if entry["id"] == "big"]
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
