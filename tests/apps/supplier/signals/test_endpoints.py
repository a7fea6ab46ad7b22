"""/api/signals of the gateway: what was raised, and whether it has arrived."""

import contextlib

import httpx2 as httpx
import pytest

from groundwire import Settings, StoreSettings
from groundwire.apps.supplier.signals.tables import SignalTables
from groundwire.cli.doors import make_application
from groundwire.serving.running import serving
from groundwire.store import open_url
from tests.apps.supplier.signals.samples import signal


@contextlib.asynccontextmanager
async def gateway(store):
    application = make_application(Settings(store=StoreSettings(url=store)), {})
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


@contextlib.asynccontextmanager
async def tables(store):
    opened = open_url(store)
    await opened.open()
    found = SignalTables(opened.database)
    await found.open()
    yield found
    await opened.shut()


async def listed(client, **query):
    page = (await client.get("/api/signals", params=query)).json()
    return [(item["signalId"], item["state"]) for item in page["items"]], page["next"]


async def test_signals_are_listed_page_by_page_and_narrowed(shared_url):
    async with tables(shared_url) as kept:
        for number in range(5):
            await kept.add("default", signal(number, session_id=f"s{number % 2}"), b"{}", 1000 * (number // 2))
        await kept.add("other", signal(9), b"{}", 9000)
        await kept.note_attempt("default", "sig_3", "delivered", status=204, error="", delivered=5000)
    async with gateway(shared_url) as client:
        assert await listed(client, limit=2) == ([("sig_4", "queued"), ("sig_3", "delivered")], "sig_3")
        assert await listed(client, limit=2, before="sig_3") == ([("sig_2", "queued"), ("sig_1", "queued")], "sig_1")
        assert await listed(client, limit=2, before="sig_1") == ([("sig_0", "queued")], None)
        assert await listed(client, session="s1") == ([("sig_3", "delivered"), ("sig_1", "queued")], None)
        assert await listed(client, state="delivered") == ([("sig_3", "delivered")], None)
        one = (await client.get("/api/signals/sig_3")).json()
        assert (await client.get("/api/signals/sig_9")).status_code == 404
    assert one == {
        "signalId": "sig_3",
        "sessionId": "s1",
        "state": "delivered",
        "attempts": 1,
        "status": 204,
        "error": "",
        "createdAt": "1970-01-01T00:00:01.000Z",
        "deliveredAt": "1970-01-01T00:00:05.000Z",
        "signal": one["signal"],
    }
    assert one["signal"]["supplierQuote"] == "50个开不了机，印不了的"


@pytest.mark.parametrize(
    ("path", "code"),
    [("?before=none", 404), ("?state=lost", 400), ("?limit=0", 400), ("/none", 404), ("?session=", 404)],
)
async def test_what_is_not_there_has_a_name(path, code):
    async with gateway("memory://") as client:
        answer = await client.get(f"/api/signals{path}")
        assert (answer.status_code, bool(answer.json()["error"]["code"])) == (code, True)
        assert await listed(client) == ([], None)
