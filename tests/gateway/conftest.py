"""A gateway on a real socket, with the simulator as its only provider."""

import contextlib

import pytest

from groundwire.assembly import ProviderSettings, Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.serving.running import serving
from groundwire.testing import simulator
from tests.conformance.conftest import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

UPSTREAMS = ("openai-chat", "openai-responses", "anthropic", "gemini")
MODELS = {
    "openai-chat": "openai/gpt-5.2",
    "openai-responses": "openai/gpt-5.2",
    "anthropic": "anthropic/claude-sonnet-4-6",
    "gemini": "gemini/gemini-3-flash",
}


class Gateway:
    """Where it is, what it was told to ask, and the simulator behind it."""

    def __init__(self, url, model, upstream, settings):
        self.url = url
        self.model = model
        self.upstream = upstream
        self.settings = settings

    openai_url = property(lambda self: f"{self.url}/v1")
    anthropic_url = gemini_url = property(lambda self: self.url)


@contextlib.asynccontextmanager
async def running_gateway(*script, upstream="openai-chat", store="memory://", environ=None, registry=None, **options):
    settings_options = {
        key: options.pop(key)
        for key in ("server", "models", "default_provider", "trust", "approvals", "schemas")
        if key in options
    }
    provider_options = {key: options.pop(key) for key in ("timeouts", "retry") if key in options}
    async with simulator(*script, **options) as up:
        bases = {"openai-chat": up.openai_url, "openai-responses": up.openai_url}
        provider = ProviderSettings(dialect=upstream, base_url=bases.get(upstream, up.url), **provider_options)
        settings = Settings(
            store=StoreSettings(url=store), providers={MODELS[upstream].partition("/")[0]: provider}, **settings_options
        )
        async with serving(make_application(settings, environ or {}, registry=registry), "127.0.0.1") as url:
            yield Gateway(url, MODELS[upstream], up, settings)


@contextlib.asynccontextmanager
async def another_gateway(running, registry=None):
    """A second one with the same store and the same simulator."""
    async with serving(make_application(running.settings, {}, registry=registry), "127.0.0.1") as url:
        yield Gateway(url, running.model, running.upstream, running.settings)


@pytest.fixture
def gateway():
    return running_gateway


@pytest.fixture(params=["sqlite", "postgres"])
def shared_store(request, tmp_path):
    """The address of a store that several processes can open."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/store.db"
