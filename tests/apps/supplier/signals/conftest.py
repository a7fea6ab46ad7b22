"""Every store, a clock that the test owns, and jobs by that clock."""

from collections.abc import AsyncIterator

import pytest

from groundwire import Database
from groundwire.store import open_url
from groundwire.testing import FakeClock
from tests.conformance.conftest import postgres_server, postgres_url, shared_url, store_url

__all__ = ["postgres_server", "postgres_url", "shared_url", "store_url"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    opened = open_url(store_url)
    await opened.open()
    yield opened.database
    await opened.shut()
