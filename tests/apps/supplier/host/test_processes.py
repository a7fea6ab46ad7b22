"""The whole way over HTTP, with processes that are killed in between: nothing is lost, nothing is said or told twice."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire import Registry, Runtime
from groundwire.apps.supplier.contracts import SourcingRequest, as_json
from groundwire.testing import FakeClock
from tests.apps.supplier.brain.conftest import running_brain
from tests.apps.supplier.signals.samples import KEY
from tests.apps.supplier.stage import NOON

CHILD = Path(__file__).with_name("child.py")
REQUEST = SourcingRequest(session_id="s-8", item="皮质钥匙扣", qty=150, want="压字", supplier_id="sup-8")
LINES = ("素色三种，都有货", "100个起，5块2一个，交期7到10天", "压字要问师傅，明天给你准信")
ROOT = "/api/supplier"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("postgres_url")


class Service:
    """A process that serves, and a client of it."""

    def __init__(self, process, url):
        self._process, self._url = process, url

    async def ask(self, method, path, **options):
        async with httpx.AsyncClient(base_url=self._url, timeout=120) as client:
            response = await client.request(method, f"{ROOT}{path}", **options)
        assert response.status_code == 200, response.text
        return response.json()

    async def say(self, place, *, wait=60):
        body = {"messageId": f"m{place}", "content": LINES[place]}
        return await self.ask("POST", "/conversations/s-8/messages", params={"wait": wait}, json=body)

    async def show(self, session="s-8"):
        return await self.ask("GET", f"/conversations/{session}")

    async def tell(self, command):
        self.order(command)
        await self.heard("done")

    def order(self, command):
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    async def heard(self, word):
        async with asyncio.timeout(120):
            while (line := await asyncio.to_thread(self._process.stdout.readline)) != f"{word}\n":
                assert line

    def kill(self):
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def launch():
    started = []

    def launched(*arguments):
        command = [sys.executable, str(CHILD), *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def start(store, now, brain="", hold=0):
        process = launched(store, repr(now), brain, KEY, str(hold))
        started.append(process)
        return Service(process, (await asyncio.to_thread(process.stdout.readline)).strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.requirement("A-059", "A-097", "A-098", "A-139", "A-144", "A-145", "OQ-02", "OQ-07", "OQ-12", "OQ-14")
async def test_a_conversation_survives_two_kills_follows_up_and_is_told_once(store, launch, tmp_path):
    async with running_brain(f"sqlite:///{tmp_path}/brain.db", FakeClock(NOON + 1200)) as brain:
        target = f"{str(brain.base_url).rstrip('/')}/signals"
        service = await launch(store, NOON, target)
        await service.ask("POST", "/conversations", json={"sr": as_json(REQUEST)})
        answered = await service.say(0)
        service.kill()

        service = await launch(store, NOON + 600, target)
        assert (await service.show())["history"] == answered["history"]
        await service.say(1, wait=0)  # nobody knows how far this one comes
        service.kill()

        service = await launch(store, NOON + 1200, target)
        await service.say(0)  # the chat is not sure that we have it
        await service.tell("idle")
        ended = await service.say(2)
        await service.tell("idle")
        ended = await service.show()
        (summary,) = ended["summaries"]
        assert (ended["status"], [one["signalType"] for one in summary["signals"]]) == (
            "completed",
            ["schedule_follow_up"],
        )
        assert [entry["content"] for entry in ended["history"] if entry["role"] == "supplier"] == list(LINES)
        assert [entry["role"] for entry in ended["history"]] == ["bot", *["supplier", "bot"] * 3]

        (kept,) = (await brain.get("/api/signals")).json()["items"]
        assert (kept["signal"]["signalId"], kept["deliveries"]) == (summary["signals"][0]["signalId"], 1)
        assert kept["signal"]["followUpTiming"]["delayHours"] == 24.0

        await service.tell(f"pass {24 * 3600}")
        await service.tell("idle")
        followed = await service.show()
        assert len(followed["history"]) == len(ended["history"]) + 1
        assert (followed["status"], followed["followUps"]) == ("continue", 1)
        service.kill()

        assert len((await brain.get("/api/signals")).json()["items"]) == 1
    await agrees_with_the_audit(store, followed)


async def agrees_with_the_audit(store, conversation):
    """Every capture and every signal call is a recorded call, no other was carried out, and the chain is whole."""
    async with Runtime(Registry(), store) as runtime:
        report = await runtime.verify_audit()
        calls = await runtime.store.list_calls("default", session_id="s-8", limit=1000)
    traced = [*conversation["botToolTrace"], *(one for part in conversation["summaries"] for one in part["toolCalls"])]
    assert report.ok
    assert sorted(call.call_id for call in calls if call.ok) == sorted(one["callId"] for one in traced)


@pytest.mark.requirement("A-145", "OQ-12")
async def test_of_two_workers_one_is_killed_and_every_follow_up_fires_once(launch, store):
    sessions = [f"s-{number}" for number in range(20)]
    one, other = await launch(store, NOON), await launch(store, NOON)
    for session in sessions:
        body = {"sr": as_json(SourcingRequest(session_id=session, item="杯子", qty=10))}
        await one.ask("POST", "/conversations", json=body)
    await asyncio.gather(one.tell(f"pass {24 * 3600}"), other.tell(f"pass {24 * 3600}"))
    await other.tell("idle")
    await asyncio.gather(one.tell(f"pass {48 * 3600}"), other.tell(f"pass {48 * 3600}"))
    one.kill()
    await other.tell("idle")
    for session in sessions:
        known = await other.show(session)
        assert [entry["role"] for entry in known["history"]] == ["bot", "bot"], session
        assert known["followUps"] == 1


@pytest.mark.requirement("A-139", "A-140", "A-143", "OQ-10", "OQ-11")
@pytest.mark.parametrize(
    "hold", [1, 2, 3, 4], ids=["before the calls", "after the calls", "before the signals", "after the signals"]
)
async def test_a_process_that_is_killed_in_the_middle_of_a_turn_leaves_one_reply_and_one_summary(store, launch, hold):
    """The first two requests are the bot's, the others those of the summary agent."""
    service = await launch(store, NOON, hold=hold)
    await service.ask("POST", "/conversations", json={"sr": as_json(REQUEST)})
    message = {"messageId": "m1", "content": "不好意思，这款停产了，您问问别家吧"}
    await service.ask("POST", "/conversations/s-8/messages", json=message)
    await service.heard("held")
    service.kill()

    service = await launch(store, NOON + 60)
    await service.tell("idle")
    known = await service.show()
    assert [entry["role"] for entry in known["history"]] == ["bot", "supplier", "bot"]
    assert [one["messageId"] for one in known["outbox"]] == ["s-8.bot.1", "s-8.bot.3"]
    calls = [one["callId"] for one in known["botToolTrace"]]
    assert len(calls) == len(set(calls)) > 0
    assert (known["status"], len(known["summaries"])) == ("rejected", 1)
    await agrees_with_the_audit(store, known)


@pytest.mark.requirement("A-145", "OQ-12")
async def test_a_process_that_is_killed_while_it_writes_a_follow_up_leaves_one(store, launch):
    service = await launch(store, NOON, hold=3)  # two requests for the summary, then the follow-up
    await service.ask("POST", "/conversations", json={"sr": as_json(REQUEST)})
    await service.tell(f"pass {24 * 3600}")
    await service.tell("idle")
    service.order(f"pass {24 * 3600}")
    await service.heard("held")
    service.kill()

    service = await launch(store, NOON + 48 * 3600 + 60)  # when the lease of the dead process has expired
    await service.tell("idle")
    known = await service.show()
    assert [entry["role"] for entry in known["history"]] == ["bot", "bot"]
    assert (known["followUps"], known["status"]) == (1, "continue")


@pytest.mark.requirement("A-139", "A-140", "OQ-11")
async def test_two_services_take_the_same_messages_at_once_and_each_is_answered_once(launch, postgres_url):
    services = [await launch(postgres_url, NOON), await launch(postgres_url, NOON)]
    await services[0].ask("POST", "/conversations", json={"sr": as_json(REQUEST)})
    bodies = [{"messageId": f"m{number}", "content": f"第{number}种颜色"} for number in range(6)]
    posts = [one.ask("POST", "/conversations/s-8/messages", json=body) for body in bodies for one in services]
    await asyncio.gather(*posts)
    await asyncio.gather(*(one.tell("idle") for one in services))
    known = await services[1].show()
    assert [entry["role"] for entry in known["history"]] == ["bot", *["supplier", "bot"] * len(bodies)]
    said = [entry["messageId"] for entry in known["history"] if entry["role"] == "supplier"]
    assert sorted(said) == [body["messageId"] for body in bodies]
