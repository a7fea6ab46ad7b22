import pytest

from groundwire.contracts.errors import ConfigError, StoreUnavailable
from groundwire.contracts.records import Reserved
from groundwire.store import MemoryStore, open_url
from groundwire.store.postgres import PostgresStore
from groundwire.store.sqlite import SqliteStore
from tests.conformance.builders import reservation


def test_a_url_names_its_store():
    assert isinstance(open_url("memory://"), MemoryStore)
    assert isinstance(open_url("sqlite:///some.db"), SqliteStore)
    assert isinstance(open_url("sqlite:///some.db?durability=power"), SqliteStore)
    assert isinstance(open_url("postgresql://ann:secret@host/database?sslmode=require"), PostgresStore)
    assert isinstance(open_url("postgres://host/database?durability=process"), PostgresStore)


async def test_three_slashes_are_relative_and_four_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///relative.db", f"sqlite:///{tmp_path}/absolute%20one.db"):
        store = open_url(url)
        assert await store.reserve(reservation()) == Reserved()
        await store.shut()
    assert {path.name for path in tmp_path.iterdir()} == {"relative.db", "absolute one.db"}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "some.db",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/some.db",
        "sqlite:///some.db?mode=ro",
        "sqlite:///some.db?durability=forever",
        "memory://?durability=none",
        "mysql://ann:secret@host/database",
        "postgresql://",
        "postgresql://ann:secret@[host/database",
        "redis://:secret@host",
    ],
)
def test_any_other_url_is_refused_with_the_accepted_forms(url):
    with pytest.raises(ConfigError) as refused:
        open_url(url)
    assert "sqlite:///relative.db" in refused.value.hint
    assert "secret" not in str(refused.value) + refused.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@host:port/database",
        "postgresql://ann:secret#part@host/database",
        "postgresql://ann:secret@127.0.0.1:1/database",
        "postgresql://ann:secret@/database?host=/nowhere",
    ],
)
async def test_a_password_never_appears_in_an_error(url):
    with pytest.raises((ConfigError, StoreUnavailable)) as refused:
        await open_url(url).open()
    assert "secret" not in str(refused.value) + refused.value.hint
    assert refused.value.hint


@pytest.mark.parametrize("store", [SqliteStore, PostgresStore])
def test_durability_has_two_levels(store):
    with pytest.raises(ConfigError):
        store("somewhere", durability="forever")
