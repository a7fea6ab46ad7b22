"""The files of a SQLite store are taken away from a process that has it open. A file elsewhere is the witness."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire.database_files import SIDECAR_SECONDS
from groundwire.serving.running import free_port
from tests.gateway.test_processes import answering, start

CHILD = Path(__file__).with_name("lost_child.py")
SIDECARS = ("-wal", "-shm")


class Place:
    """A folder with a store, and what can happen to it."""

    def __init__(self, folder, durability):
        self.witness = folder / "witness.txt"
        self.folder = folder / "store"
        self.folder.mkdir()
        self.file = self.folder / "groundwire.db"
        self.url = f"sqlite:///{self.file}?durability={durability}"

    def executed(self, key):
        lines = self.witness.read_text().splitlines() if self.witness.exists() else []
        return sum(line.endswith(key) for line in lines)

    def delete(self):
        self.file.unlink()

    def delete_all(self):
        for suffix in ("", *SIDECARS):
            Path(f"{self.file}{suffix}").unlink()

    def delete_sidecars(self):
        """Returns when no check of the sidecars before their deletion counts any more."""
        for suffix in SIDECARS:
            Path(f"{self.file}{suffix}").unlink()
        deleted_at = time.monotonic()
        while time.monotonic() <= deleted_at + SIDECAR_SECONDS:
            pass

    def replace(self):
        other = self.folder / "other.db"
        other.touch()
        other.rename(self.file)

    def move_folder(self):
        self.folder.rename(self.folder.with_name("elsewhere"))
        self.folder.mkdir()

    def delete_folder(self):
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def replace_by_link(self):
        self.file.rename(self.folder / "old.db")
        self.file.symlink_to(self.folder / "new.db")

    def truncate(self):
        os.truncate(self.file, 0)


WAYS = ["delete", "delete_all", "replace", "move_folder", "delete_folder", "replace_by_link"]


@pytest.fixture(params=["process", "power"])
def place(request, tmp_path):
    return Place(tmp_path, request.param)


@pytest.fixture
def child(place):
    started = []

    class Child:
        def __init__(self):
            command = [sys.executable, str(CHILD), place.url, str(place.witness)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            started.append(self.process)
            assert self.answer() == "ready"

        def answer(self):
            return json.loads(self.process.stdout.readline() or "null")

        def ask(self, *words):
            self.process.stdin.write(" ".join(words) + "\n")
            self.process.stdin.flush()
            return self.answer()

    yield Child
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("way", WAYS)
def test_a_store_that_is_gone_is_not_used_any_more_and_the_next_process_acts_once(place, child, way):
    first = child()
    assert first.ask("call", "before") == "ok"
    getattr(place, way)()
    assert first.ask("call", "before") == "store_unavailable"
    assert first.ask("call", "key") == "store_unavailable"
    assert first.ask("effects") == "store_unavailable"
    second = child()
    assert second.ask("call", "key") == "ok"
    assert first.ask("call", "key") == "store_unavailable"
    assert place.executed("key") == 1


def test_a_store_without_its_log_is_not_used_any_more(place, child):
    """Locks and recent commits are in the log and its index: a process that finds none makes others."""
    first = child()
    assert first.ask("begin", "key") == "begun"
    place.delete_sidecars()
    assert first.ask("end") == "store_unavailable"
    assert first.ask("call", "other") == first.ask("effects") == "store_unavailable"
    assert place.executed("other") == 0


@pytest.mark.parametrize("way", [*WAYS, "delete_sidecars"])
def test_of_two_processes_that_act_under_one_key_only_the_one_with_the_store_reports_success(place, child, way):
    first = child()
    assert first.ask("begin", "key") == "begun"
    getattr(place, way)()
    assert first.ask("call", "other") == "store_unavailable"
    second = child()
    # Where only the log is gone, the first one has saved its reservation when it let go of the file.
    assert second.ask("call", "key") == ("ok" if way != "delete_sidecars" else "CONFLICT")
    assert first.ask("end") == "store_unavailable"


@pytest.mark.parametrize("way", ["delete_all", "replace"])
def test_whoever_lost_its_store_does_the_next_one_no_harm_when_it_closes(place, child, way):
    first = child()
    assert first.ask("call", "before") == "ok"
    getattr(place, way)()
    assert first.ask("call", "other") == "store_unavailable"
    second = child()
    assert second.ask("call", "key") == "ok"
    assert first.ask("close") in ("closed", "store_unavailable")
    first.process.communicate(timeout=60)
    assert first.process.returncode == 0
    assert second.ask("call", "key") == "replayed"
    third = child()
    assert third.ask("call", "key") == "replayed"
    assert third.ask("audit") is True


def test_an_idle_process_lets_go_of_a_store_that_it_lost(place, child):
    """As long as it holds on to its log, no other process can begin another store under that name."""
    first = child()
    assert first.ask("call", "before") == "ok"
    place.delete()
    for _ in range(100):
        try:
            second = child()
        except AssertionError:
            continue
        break
    assert second.ask("call", "key") == "ok"


def test_a_truncated_store_is_not_used_any_more(place, child):
    first = child()
    assert first.ask("call", "before") == "ok"
    assert first.ask("close") == "closed"
    assert first.ask("call", "again") == "ok"
    place.truncate()
    assert first.ask("call", "again") == "store_unavailable"
    assert first.ask("effects") == "store_unavailable"


def test_a_file_that_is_put_back_is_used_after_a_restart(place, child):
    first = child()
    assert first.ask("call", "before") == "ok"
    kept = place.file.with_name("kept.db")
    place.file.rename(kept)
    assert first.ask("call", "key") == "store_unavailable"
    kept.rename(place.file)
    assert first.ask("call", "key") == "store_unavailable"
    assert first.ask("close") in ("closed", "store_unavailable")
    assert first.ask("call", "before") == "replayed"


def test_another_working_folder_does_not_hide_the_store(tmp_path):
    program = """
import asyncio, os
from groundwire import Registry, Runtime
async def main():
    async with Runtime(Registry([]), "sqlite:///relative.db") as runtime:
        os.chdir("/")
        print(len(await runtime.effects()))
        await runtime.database.execute("CREATE TABLE mine (one INTEGER)")
asyncio.run(main())
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.parametrize("replaced", [False, True])
def test_jobs_whose_file_is_gone_are_not_kept_in_it_any_more(place, child, replaced):
    first = child()
    assert first.ask("defer", "before") == "ok"
    jobs = place.file.with_suffix(".jobs.db")
    if replaced:
        other = jobs.with_name("other.db")
        other.touch()
        other.rename(jobs)
    else:
        jobs.unlink()
    assert first.ask("defer", "key") == "store_unavailable"
    assert first.ask("jobs") == "store_unavailable"
    assert first.ask("close") == "closed"
    second = child()
    assert second.ask("jobs") == 0
    assert second.ask("defer", "other") == "ok"
    assert child().ask("jobs") == 1


def test_whoever_lost_its_jobs_does_the_next_ones_no_harm_when_it_closes(place, child):
    first = child()
    assert first.ask("defer", "before") == "ok"
    for file in place.folder.glob("*.jobs.db*"):
        file.unlink()
    second = child()
    assert second.ask("defer", "key") == "ok"
    assert first.ask("jobs") == "store_unavailable"
    assert first.ask("close") == "closed"
    assert second.ask("jobs") == 1
    assert child().ask("jobs") == 1


@pytest.fixture
def server(tmp_path):
    """A server with the sample tools, on `store.db` in its folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    for command in (["init", "."], ["build", "tools/"]):
        made = start(command, dict(os.environ), folder)
        said, _ = made.communicate()
        assert made.returncode == 0, said
    port = free_port("127.0.0.1")
    environ = {**os.environ, "GROUNDWIRE_STORE": f"sqlite:///{folder}/store.db"}
    process = start(["serve", "--port", str(port)], environ, folder)
    yield process, port, folder / "store.db"
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


async def test_a_server_that_lost_its_store_is_not_ready_refuses_and_can_be_stopped(server):
    process, port, store = server
    call = {"tool": "send_note", "arguments": {"text": "hello"}}
    await answering(port, process)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.post("/api/calls", json=call)).json()["ok"] is True
        store.unlink()
        unready = await client.get("/health/ready")
        refused = [await client.post("/api/calls", json=call), await client.get("/api/calls")]
        alive = await client.get("/health/live")
    assert (unready.status_code, unready.json()["store"]) == (503, "unreachable")
    assert [answer.status_code for answer in refused] == [503, 503]
    assert [answer.json()["error"]["code"] for answer in refused] == ["store_unavailable"] * 2
    assert alive.status_code == 200
    process.terminate()
    said, _ = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == 0
    assert b"store.db was deleted or moved" in said
    assert b"Traceback" not in said
