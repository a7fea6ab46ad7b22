"""/api/jobs over a real socket, and a server that carries out calls of its background tools itself."""

from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.contracts.jobs import JobSettings
from groundwire.serving.running import serving


@tool(category="retrieval", background=True)
def scan(page: int) -> dict:
    """Scan a page."""
    if page < 0:
        raise ValueError("there is no such page")
    return {"text": f"page {page}"}


@asynccontextmanager
async def api(tmp_path, *tools, serve=True):
    settings = Settings(
        store=StoreSettings(url=f"sqlite:///{tmp_path}/store.db"), jobs=JobSettings(poll_seconds=0.02, serve=serve)
    )
    application = make_application(settings, {}, registry=Registry(tools))
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def handle_of(client, page):
    answer = await client.post("/api/calls", json={"tool": "scan", "arguments": {"page": page}})
    return answer.json()["data"]["job"]


async def ended(client, job_id):
    while (job := (await client.get(f"/api/jobs/{job_id}")).json())["status"] in ("waiting", "running"):
        pass
    return job


@pytest.mark.requirement("OQ-20")
async def test_a_server_carries_out_calls_of_its_background_tools(tmp_path):
    async with api(tmp_path, scan) as client:
        handle = await handle_of(client, 7)
        assert handle["status"] == "waiting"
        job = await ended(client, handle["id"])
        assert (job["status"], job["result"]["data"]) == ("done", {"text": "page 7"})
        listed = (await client.get("/api/jobs", params={"status": "done", "kind": "tool"})).json()
        assert listed == {"items": [job], "next": None}


async def test_a_server_that_is_not_to_work_leaves_jobs_to_others(tmp_path):
    async with api(tmp_path, scan, serve=False) as client:
        handle = await handle_of(client, 7)
        cancelled = await client.post(f"/api/jobs/{handle['id']}/cancel")
        again = await client.post(f"/api/jobs/{handle['id']}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
        assert (again.status_code, again.json()["error"]["code"]) == (409, "already_decided")


async def test_a_dead_letter_is_tried_again_and_nothing_else_is(tmp_path):
    async with api(tmp_path, scan) as client:
        failed = await ended(client, (await handle_of(client, -1))["id"])
        assert (failed["status"], failed["result"]["error"]["type"]) == ("failed", "INTERNAL")
        again = await client.post(f"/api/jobs/{failed['jobId']}/retry")
        assert (again.status_code, again.json()["status"]) == (200, "waiting")
        assert (await ended(client, failed["jobId"]))["status"] == "failed"
        done = await ended(client, (await handle_of(client, 1))["id"])
        assert (await client.post(f"/api/jobs/{done['jobId']}/retry")).status_code == 409


@pytest.mark.parametrize("path", ["/api/jobs/job_9", "/api/jobs/%00", "/api/jobs?before=job_9"])
async def test_what_is_not_there_is_not_found(tmp_path, path):
    async with api(tmp_path) as client:
        assert (await client.get(path)).status_code == 404


async def test_jobs_are_counted_by_status(tmp_path):
    async with api(tmp_path, scan, serve=False) as client:
        await handle_of(client, 7)
        text = (await client.get("/metrics")).text
        assert 'groundwire_jobs{status="waiting"} 1\n' in text
        assert 'groundwire_jobs{status="failed"} 0\n' in text
        counted = (await client.get("/metrics", headers={"accept": "application/json"})).json()["jobs"]
        assert counted == {"waiting": 1, "running": 0, "done": 0, "failed": 0, "cancelled": 0}


async def test_a_server_without_jobs_makes_no_place_for_them(tmp_path):
    async with api(tmp_path) as client:
        assert (await client.get("/api/jobs")).json() == {"items": [], "next": None}
        assert (await client.get("/metrics")).status_code == 200
    assert not (tmp_path / "store.jobs.db").exists()
