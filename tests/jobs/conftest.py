"""Jobs beside every store, with a clock that the test owns."""

from collections.abc import AsyncIterator

import pytest

from groundwire.jobs import Jobs, JobSettings, open_jobs
from groundwire.testing import FakeClock
from tests.conformance.conftest import postgres_server, postgres_url, shared_url, store_url

__all__ = ["postgres_server", "postgres_url", "shared_url", "store_url"]

SETTINGS = JobSettings(poll_seconds=0.02, grace_seconds=0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def jobs(store_url: str, clock: FakeClock) -> AsyncIterator[Jobs]:
    opened = open_jobs(store_url, clock=clock, settings=SETTINGS)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_jobs(tmp_path, clock: FakeClock) -> AsyncIterator[Jobs]:
    """For what does not depend on the store."""
    opened = open_jobs(f"sqlite:///{tmp_path}/store.db", clock=clock, settings=SETTINGS)
    yield opened
    await opened.close()
