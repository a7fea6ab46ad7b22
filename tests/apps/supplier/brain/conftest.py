"""A brain on a real socket, beside every store."""

import contextlib
from functools import partial

import httpx2 as httpx
import pytest

from groundwire import Settings, StoreSettings
from groundwire.apps.supplier.brain.endpoints import ABOUT, open_brain
from groundwire.serving import WebhookKey, service_application
from groundwire.serving.running import serving
from groundwire.testing import FakeClock
from tests.apps.supplier.signals.samples import KEY
from tests.conformance.conftest import postgres_server, postgres_url, store_url

__all__ = ["postgres_server", "postgres_url", "store_url"]


@pytest.fixture
def clock():
    return FakeClock()


@contextlib.asynccontextmanager
async def running_brain(store, clock=None, *, keys=(KEY,), environ=None):
    """A client of a brain that knows these keys."""
    settings = Settings(store=StoreSettings(url=store))
    opening = partial(open_brain, keys=[WebhookKey(key) for key in keys])
    application = service_application(settings, opening, about=ABOUT, environ=environ or {}, clock=clock)
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


@pytest.fixture
async def brain(store_url, clock):
    async with running_brain(store_url, clock) as client:
        yield client


@pytest.fixture
async def small_brain(clock):
    """For what does not depend on the store."""
    async with running_brain("memory://", clock) as client:
        yield client
