"""A host beside every store, with the rules as its model and a clock that the test owns."""

from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Runtime, Settings, StoreSettings
from groundwire.apps.supplier.agents import Roles, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import GroundingMode
from groundwire.apps.supplier.negotiator import RULES, rules_models
from groundwire.apps.supplier.opening import ABOUT, SupplierOptions, open_supplier
from groundwire.jobs import JobSettings, open_jobs
from groundwire.serving import service_application
from groundwire.serving.running import serving
from groundwire.testing import FakeClock
from tests.apps.supplier.stage import NOON
from tests.conformance.conftest import postgres_server, postgres_url, shared_url, store_url

__all__ = ["postgres_server", "postgres_url", "shared_url", "store_url"]

SETTINGS = JobSettings(poll_seconds=0.02)


class Stage:
    """A host, its jobs, its clock, and what it has sent."""

    def __init__(self, url, clock):
        self.url, self.clock, self.sent = url, clock, []

    @asynccontextmanager
    async def open(self, models=None, through=lambda jobs: jobs, **options):
        """`through` puts something between the host and its jobs."""
        settings = with_grounding(Settings(), GroundingMode.STRICT)
        options = SupplierOptions(roles=Roles(bot=RULES, summary=RULES), **options)
        jobs = open_jobs(self.url, clock=self.clock, settings=SETTINGS)
        async with Runtime(supplier_registry(), self.url, settings=settings, clock=self.clock) as runtime:
            models = models or rules_models(self.clock)
            async with open_supplier(runtime, through(jobs), models, options, send=self.send) as (host, _):
                self.host, self.jobs, self.runtime = host, jobs, runtime
                yield host

    async def send(self, session_id, message_id, text):
        self.sent.append((message_id, text))

    async def pass_time(self, hours):
        self.clock.advance(hours * 3600)
        await self.jobs.idle()


@pytest.fixture
def clock():
    return FakeClock(NOON)


@pytest.fixture
def stage(store_url, clock):
    return Stage(store_url, clock)


@asynccontextmanager
async def running_service(store, clock):
    """A client of the service, with the rules as its model."""
    options = SupplierOptions(roles=Roles(bot=RULES, summary=RULES))

    @asynccontextmanager
    async def opening(runtime):
        jobs = open_jobs(store, clock=clock, settings=SETTINGS)
        async with open_supplier(runtime, jobs, rules_models(clock), options) as (_, endpoints):
            yield endpoints

    settings = with_grounding(Settings(store=StoreSettings(url=store)), GroundingMode.STRICT)
    application = service_application(
        settings, opening, about=ABOUT, registry=supplier_registry(), environ={}, clock=clock
    )
    async with (
        serving(application, "127.0.0.1") as url,
        httpx.AsyncClient(base_url=f"{url}/api/supplier", timeout=60) as client,
    ):
        yield client


@pytest.fixture
async def client(store_url, clock):
    async with running_service(store_url, clock) as client:
        yield client


@pytest.fixture
async def small_client(clock):
    """For what does not depend on the store."""
    async with running_service("memory://", clock) as client:
        yield client
