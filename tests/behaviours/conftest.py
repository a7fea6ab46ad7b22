"""A runtime in memory whose every record is checked when the test is over, and readers of what it recorded."""

import msgspec
import pytest

from groundwire.contracts.schemas import envelope_problems
from groundwire.testing import FakeClock, runtime_for


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def make():
    """Make a runtime. In the end every envelope it stored must fit the schema, and its audit chain must hold."""
    made = []

    def make_runtime(*tools, **options):
        runtime = runtime_for(*tools, **options)
        made.append(runtime)
        return runtime

    yield make_runtime
    for runtime in made:
        await runtime.close()
        async with runtime:
            for record in await runtime.store.list_calls("default", limit=10_000):
                assert envelope_problems(msgspec.json.decode(record.result)) == []
            assert (await runtime.verify_audit()).problems == ()


@pytest.fixture
def audit_of():
    """The audit entries of a runtime, oldest first."""

    async def read(runtime, kind="call", tenant="default"):
        records = await runtime.store.list_audit(tenant, limit=10_000)
        return [record.entry for record in reversed(records) if record.entry.kind == kind]

    return read


@pytest.fixture
def calls_of():
    """The stored calls of a runtime, oldest first."""

    async def read(runtime, **filters):
        return list(reversed(await runtime.store.list_calls("default", limit=10_000, **filters)))

    return read
