"""Background calls whose caller or worker is killed with SIGKILL: each becomes one job, and none happens twice unseen."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire import Runtime
from groundwire.jobs import JobStatus
from tests.jobs.background_child import SETTINGS, registry

CHILD = Path(__file__).with_name("background_child.py")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def child(store, tmp_path):
    started = []

    def start(command, *arguments):
        process = subprocess.Popen(
            [sys.executable, str(CHILD), command, store, str(tmp_path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


async def killed(process):
    assert await asyncio.to_thread(process.wait) == -signal.SIGKILL


def lines(folder):
    file = folder / "effects.txt"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.requirement("OQ-20")
@pytest.mark.parametrize("step", ["reserve", "settle", "done"])
async def test_a_call_whose_process_was_killed_is_one_job_when_it_is_made_again(child, store, tmp_path, step):
    await killed(child("call", "pay", step))
    out, _ = await asyncio.to_thread(child("call", "pay").communicate)
    handle = json.loads(out)["data"]["job"]
    async with Runtime(registry(tmp_path), store, settings=SETTINGS) as runtime:
        assert [job.job_id for job in await runtime.jobs.list()] == [handle["id"]]
        await runtime.work()
        assert (await runtime.job_result(handle["id"])).data == {"wrote": "paid"}
    assert lines(tmp_path) == ["paid"]


@pytest.mark.requirement("OQ-20")
@pytest.mark.parametrize(
    ("name", "step", "status", "written"),
    [
        ("pay", "invoke", "failed", []),
        ("pay", "settle", "failed", ["paid"]),
        ("pay", "done", "done", ["paid"]),
        ("put", "settle", "done", ["put", "put"]),
        ("scan", "settle", "done", ["scanned", "scanned"]),
    ],
)
async def test_what_a_killed_worker_had_begun_is_unknown_or_done_again(
    child, store, tmp_path, name, step, status, written
):
    async with Runtime(registry(tmp_path), store, settings=SETTINGS) as runtime:
        job_id = (await runtime.call(name, {}, session="s")).meta.job
        await killed(child("work", "", step))
        assert (await runtime.jobs.find(job_id)).status == JobStatus.RUNNING
        await runtime.work()
        result = await runtime.job_result(job_id)
        assert (await runtime.jobs.find(job_id)).status == status
        assert (result.error.type if result.error else None) == ("OUTCOME_UNKNOWN" if status == "failed" else None)
        assert lines(tmp_path) == written
        assert (await runtime.verify_audit()).ok
