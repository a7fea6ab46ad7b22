import asyncio
import contextlib
import subprocess
import sys

import pytest

from groundwire.assembly import Settings, load_settings, open_models
from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.messages import say
from groundwire.contracts.requests import ModelRequest
from groundwire.extras import install_command
from groundwire.providers.faults import FaultKind, ModelFaults
from groundwire.testing import simulator


@pytest.mark.parametrize("name", ["gpt-9", "gemini-flash", "gemini/gemini-3-flash", "sim", "anything"])
async def test_without_any_key_the_built_in_model_answers_for_every_name(name):
    models = open_models(environ={})
    reply = await models.complete(ModelRequest(model=name, items=(say("user", "hello"),)))
    assert reply.text == "You said: hello"
    await models.close()


def test_a_key_in_the_environment_is_enough_to_reach_a_vendor():
    models = open_models(environ={"GEMINI_API_KEY": "k"})
    assert models.catalogue.find("gemini-flash").provider == "gemini"
    with pytest.raises(ProviderError, match="anthropic"):
        models.catalogue.find("claude-opus-5")


def write(tmp_path, text):
    file = tmp_path / "groundwire.toml"
    file.write_text(text)
    return load_settings(file, environ={})


CONFIG = """
defaultProvider = "house"

[providers.house]
baseUrl = "http://127.0.0.1:9/v1"
dialect = "openai-chat"
keyEnv = "HOUSE_KEY"
timeouts = { total = 30, connect = 2 }
retry = { attempts = 5 }

[[models]]
id = "big"
provider = "house"
model = "qwen3-235b"
aliases = ["best"]
tags = ["stable"]
toolCalling = "reliable"
prices = { input = 1.5, output = 6 }
"""


@pytest.mark.requirement("C-193", "OQ-33")
def test_providers_and_models_of_the_configuration_are_found_by_their_names(tmp_path):
    models = open_models(write(tmp_path, CONFIG), environ={"HOUSE_KEY": "k"})
    route = models.catalogue.find("best")
    assert (route.provider, route.model) == ("house", "qwen3-235b")
    assert route.entry.tool_calling == "reliable"
    assert models.catalogue.find("anything").provider == "house"


@pytest.mark.parametrize(
    ("config", "environ", "words"),
    [
        (CONFIG, {}, "HOUSE_KEY, which is not set"),
        ('defaultProvider = "nobody"', {}, "default provider 'nobody' is not set up"),
        ("", {"GROUNDWIRE_DEFAULT_PROVIDER": "nobody"}, "default provider 'nobody' is not set up"),
    ],
)
def test_what_cannot_be_reached_is_named_when_it_is_opened(tmp_path, config, environ, words):
    with pytest.raises(ConfigError, match=words):
        open_models(write(tmp_path, config), environ=environ)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[providers.x]\nbaseUrl = "u"\ndialect = "soap"', "dialect"),
        ('[providers.x]\ndialect = "gemini"', "baseUrl"),
        ('[providers.x]\nbaseUrl = "u"\nretry = { attempts = 0 }', "attempts"),
        ('[providers.x]\nbaseUrl = "u"\ntimeouts = { total = -1 }', "total"),
        ('[[models]]\nid = "x"', "provider"),
        ("[local]\ncontextSize = 255", "contextSize"),
    ],
)
def test_a_configuration_that_means_nothing_is_refused_by_the_name_of_the_setting(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        write(tmp_path, text)


def test_a_local_model_whose_file_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.gguf"):
        open_models(write(tmp_path, '[local]\npath = "nowhere.gguf"'), environ={})


def test_settings_without_any_provider_are_the_default():
    assert Settings().providers == {}


async def test_the_built_in_model_follows_the_script_and_the_faults_of_the_settings(tmp_path):
    (tmp_path / "script.json").write_text('{"answers": ["Hello."]}')
    calm = open_models(write(tmp_path, '[simulator]\nscript = "script.json"'), environ={})
    wild = open_models(write(tmp_path, '[simulator]\nscript = "script.json"\nfaults = 2\nrate = 1.0'), environ={})
    request = ModelRequest(model="sim", items=(say("user", "hi"),))
    assert (await calm.complete(request)).text == "Hello."
    expected = ModelFaults(seed=2, rate=1.0).fault(0)
    assert expected is not None
    assert expected.kind is FaultKind.THINKING_LEAK
    assert (await wild.complete(request)).text.endswith("</think>Hello.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[simulator]\nrate = 1.01", r"simulator\.rate"),
        ("[simulator]\nrate = -0.01", r"simulator\.rate"),
        ("[simulator]\nseed = 1", "seed"),
    ],
)
def test_a_plan_of_faults_that_means_nothing_is_refused(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        write(tmp_path, text)


def test_a_script_that_is_not_there_is_named_when_models_are_opened(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.json"):
        open_models(write(tmp_path, '[simulator]\nscript = "gone.json"'), environ={})


HOUSE = '[providers.house]\nbaseUrl = "http://127.0.0.1:9/v1"\n'


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("profile = { maxTokenField = 'max_tokens' }", r"providers\.house\.profile\.maxTokenField", "maxTokensField"),
        ("profile = { maxTokensField = 'limit' }", r"profile\.maxTokensField: 'limit' is not one of", ""),
        ("profile = { mergeSameRole = 1 }", r"profile\.mergeSameRole", ""),
        ("profile = { callIds = { pattern = '(' } }", r"profile\.callIds\.pattern: it is no pattern", ""),
        (
            "dialect = 'gemini'\nprofile = { mergeSameRole = true }",
            r"profile\.mergeSameRole: there is no such",
            "known",
        ),
    ],
)
def test_a_knob_that_the_dialect_does_not_have_is_named(tmp_path, text, words, hint):
    with pytest.raises(ConfigError, match=words) as caught:
        open_models(write(tmp_path, HOUSE + text), environ={})
    assert hint in caught.value.hint


async def test_knobs_of_the_settings_win_over_what_is_known_of_the_model(tmp_path):
    request = ModelRequest(model="house/gpt-5.2", items=(say("user", "hi"),), max_output_tokens=9)
    async with simulator("Hello.") as running:
        for field in ("max_tokens", "max_completion_tokens"):
            text = f'[providers.house]\nbaseUrl = "{running.openai_url}"\nprofile = {{ maxTokensField = "{field}" }}'
            settings = await asyncio.to_thread(write, tmp_path, text)
            models = open_models(settings, environ={})
            with contextlib.suppress(ProviderError):  # this model takes only one of them
                await models.complete(request)
            await models.close()
    assert [{*seen.body} & {"max_tokens", "max_completion_tokens"} for seen in running.requests] == [
        {"max_tokens"},
        {"max_completion_tokens"},
    ]


def test_without_an_http_client_only_who_needs_it_is_refused_with_the_line_that_installs_it():
    script = """
import asyncio, sys
sys.modules["httptools"] = None
from groundwire import ConfigError, ModelRequest, open_models, say

async def main():
    models = open_models(environ={"OPENAI_API_KEY": "k"})
    print((await models.complete(ModelRequest(model="sim/any", items=(say("user", "hi"),)))).text)
    remote = ModelRequest(model="gpt-5.2", items=(say("user", "hi"),))
    try:
        await models.complete(remote)
    except ConfigError as error:
        print(error)
    try:
        async for part in models.stream(remote):
            print(part)
    except ConfigError as error:
        print(error)
    await models.close()

asyncio.run(main())
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    refused = (
        f"Calling openai needs the extra 'providers': httptools is not installed. ({install_command('providers')})"
    )
    assert run.stdout.splitlines() == ["You said: hi", refused, refused]
