"""One suite, every store. Other folders may import `postgres_server` and `postgres_url` from here."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from groundwire.contracts.ports import Store
from groundwire.store import open_url
from tests.postgres_server import new_schema, running_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    return new_schema(postgres_server)


def _url(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    match kind:
        case "memory":
            return "memory://"
        case "postgres":
            return request.getfixturevalue("postgres_url")
        case _:
            return f"sqlite:///{folder}/store.db?durability={kind.removeprefix('sqlite-')}"


@pytest.fixture(params=["memory", "sqlite-process", "sqlite-power", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return _url(request.param, tmp_path, request)


@pytest.fixture(params=["sqlite-process", "sqlite-power", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that several processes can open."""
    return _url(request.param, tmp_path, request)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = open_url(store_url)
    await opened.open()
    yield opened
    await opened.shut()


@pytest.fixture
async def shared(shared_url: str) -> AsyncIterator[Store]:
    opened = open_url(shared_url)
    await opened.open()
    yield opened
    await opened.shut()
