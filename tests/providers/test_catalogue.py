import pytest

from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.replies import Usage
from groundwire.providers.catalogue import Catalogue, ModelEntry, Prices, Route

ALL = ("openai", "anthropic", "gemini", "openrouter", "sim")


def find(name, *entries, providers=ALL, default=""):
    route = Catalogue(entries, providers=providers, default_provider=default).find(name)
    return route.provider, route.model


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("gemini/gemini-3-flash", ("gemini", "gemini-3-flash")),
        ("gemini:gemini-3-flash", ("gemini", "gemini-3-flash")),
        ("openrouter/anthropic/claude-sonnet-4.5", ("openrouter", "anthropic/claude-sonnet-4.5")),
        ("openrouter:qwen/qwen3:free", ("openrouter", "qwen/qwen3:free")),
        ("gpt-5.4", ("openai", "gpt-5.4")),
        ("o3", ("openai", "o3")),
        ("o4-mini", ("openai", "o4-mini")),
        ("claude-opus-5", ("anthropic", "claude-opus-5")),
        ("gemini-2.5-flash", ("gemini", "gemini-2.5-flash")),
        ("models/gemini-2.5-flash", ("gemini", "models/gemini-2.5-flash")),
    ],
)
def test_a_name_leads_to_its_provider(name, route):
    assert find(name) == route


@pytest.mark.requirement("A-124", "A-125", "A-126", "A-127")
def test_roles_are_known_by_aliases():
    assert find("gemini-pro") == ("gemini", "gemini-3.1-pro-preview")
    assert find("gemini-flash") == ("gemini", "gemini-3-flash-preview")
    assert find("gemini/gemini-flash") == ("gemini", "gemini-3-flash-preview")


@pytest.mark.requirement("A-128")
def test_moving_an_alias_moves_everybody_who_uses_it():
    successor = ModelEntry(id="gemini-4-pro", provider="gemini", aliases=("gemini-pro",))
    assert find("gemini-pro", successor) == ("gemini", "gemini-4-pro")
    elsewhere = ModelEntry(id="own", provider="openrouter", model="google/gemini-4", aliases=("gemini-pro",))
    assert find("gemini-pro", elsewhere) == ("openrouter", "google/gemini-4")


def test_a_name_that_nobody_knows_goes_to_the_default_provider_if_there_is_one():
    assert find("llama", default="sim") == ("sim", "llama")
    with pytest.raises(ProviderError) as caught:
        find("llama")
    assert caught.value.failure.kind == FailureKind.NOT_FOUND
    assert "provider/model" in caught.value.message


def test_the_error_for_an_unknown_name_helps():
    with pytest.raises(ProviderError, match="did you mean gemini-flash"):
        find("gemeni-flash")
    with pytest.raises(ProviderError, match="no key and no base URL for anthropic"):
        find("claude-opus-5", providers=("openai",))


def test_two_own_entries_cannot_share_a_name():
    first = ModelEntry(id="a", provider="sim", aliases=("fast",))
    with pytest.raises(ConfigError, match="'fast' belongs to 'a' and to 'b'"):
        Catalogue((first, ModelEntry(id="b", provider="sim", aliases=("fast",))))


def test_the_entry_comes_along_with_what_is_known_of_the_model():
    entry = ModelEntry(id="m", provider="sim", tags=("stable",))
    assert Catalogue((entry,), providers=ALL).find("m") == Route(provider="sim", model="m", entry=entry)
    assert entry in Catalogue((entry,)).entries


def test_a_reply_costs_what_its_tokens_cost():
    prices = Prices(input=2, output=10, cached=0.5)
    assert prices.cost_of(Usage(input=1_000_000, output=100_000, cached=400_000)) == pytest.approx(1.2 + 0.2 + 1)
    assert Prices(input=2, output=10).cost_of(Usage(input=1_000_000, cached=400_000)) == pytest.approx(2)
    assert prices.cost_of(Usage(input=10, cached=100)) == pytest.approx(10 * 0.5 / 1e6)
