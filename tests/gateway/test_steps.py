"""Steps that come back without what only their provider can read: found again by their calls, and only by the very same."""

import contextlib
import sqlite3
import time

import httpx2 as httpx
import msgspec
import pytest

from groundwire import Registry, tool
from groundwire.assembly import Runtime
from groundwire.codecs import gemini
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, ReasoningItem, ResultItem, TextPart, say
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.steps import Step, Steps
from groundwire.gateway.tables import Tables
from groundwire.gateway.threads import with_known_results
from groundwire.testing import Answer, Ask

PRIVATE = {"anthropic": {"signature": "s"}}


class Table:
    """The gateway's table of steps, in memory."""

    def __init__(self):
        self.rows = {}

    async def add_step(self, tenant, key, created, items):
        self.rows[tenant, key] = items

    async def steps(self, tenant, keys):
        return {key: self.rows[tenant, key] for key in keys if (tenant, key) in self.rows}


def call(call_id, city="Oslo", private=None):
    raw = msgspec.json.encode({"city": city}).decode()
    return CallItem(call=ToolCall(call_id=call_id, name="f", raw=raw), private=private or {})


def bare(place, city="Oslo"):
    """A call as Gemini's clients may send it: without its id."""
    return call(f"call_1_{place}", city, {"gemini": {"_synthetic": True}})


def result(call_id):
    return ResultItem(call_id=call_id, parts=(TextPart(text="sunny"),))


async def kept(*calls, dialect="openai-chat"):
    steps = Steps(Table())
    items = (ReasoningItem(text="hm", private=PRIVATE), *calls)
    await steps.keep("t", Step(dialect=dialect, asked=(say("user", "Q"),), items=items, shown=items), 1)
    return steps, items


async def test_a_step_is_whole_again_when_its_results_come():
    steps, items = await kept(call("c1"), call("c2", "Rome"))
    given = (say("user", "Q"), call("c1"), call("c2", "Rome"), result("c1"), result("c2"))
    assert await steps.restored("t", given, "openai-chat") == (given[0], *items, *given[3:])


@pytest.mark.parametrize(
    "given",
    [
        (say("user", "Q"), call("c1", "Paris"), result("c1")),
        (say("user", "Q"), call("c1"), call("c2"), result("c1"), result("c2")),
        (say("user", "Another question"), call("c1"), result("c1")),
        (say("user", "Q"), call("c1"), result("c1"), say("user", "And now?")),
        (say("user", "Q"), bare(0), result("call_1_0")),
    ],
)
async def test_other_calls_other_words_and_earlier_turns_stay_as_they_are(given):
    steps, _ = await kept(call("c1"))
    assert await steps.restored("t", given, "openai-chat") == given


async def test_another_tenants_step_is_not_found():
    steps, _ = await kept(call("c1"))
    given = (say("user", "Q"), call("c1"), result("c1"))
    assert await steps.restored("another", given, "openai-chat") == given


@pytest.mark.parametrize(("between", "is_found"), [(2, True), (3, False)])
async def test_up_to_two_messages_of_the_client_may_stand_before_a_step(between, is_found):
    steps, items = await kept(call("c1"))
    said = [say("user", f"<thinking {number}>") for number in range(between)]
    given = (say("user", "Q"), *said, call("c1"), result("c1"))
    restored = await steps.restored("t", given, "anthropic")
    assert restored == (*given[: between + 1], *(items if is_found else [given[-2]]), given[-1])


async def test_calls_without_ids_are_found_by_what_they_are_and_their_results_get_the_ids():
    steps, items = await kept(call("c1"), call("c2", "Rome"), dialect="gemini")
    given = (say("user", "Q"), bare(0), bare(1, "Rome"), result("call_1_0"), result("call_1_1"))
    assert await steps.restored("t", given, "gemini") == (given[0], *items, result("c1"), result("c2"))


@pytest.mark.parametrize(
    "given",
    [
        (say("user", "Q"), bare(0, "Paris"), result("call_1_0")),
        (say("user", "Before"), say("user", "Q"), bare(0), result("call_1_0")),
    ],
)
async def test_calls_without_ids_are_not_mistaken_for_those_of_another_conversation(given):
    steps, _ = await kept(call("c1"), dialect="gemini")
    assert await steps.restored("t", given, "gemini") == given


async def test_a_long_turn_without_ids_is_looked_for_in_linear_time():
    steps = [
        content
        for place in range(10_000)
        for content in (
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"place": place}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]},
        )
    ]
    asked = {"role": "user", "parts": [{"text": "word " * 20_000}]}
    items = gemini.decode_request({"contents": [asked, *steps]}).items
    started = time.process_time()
    assert await Steps(Table()).restored("t", items, "gemini") == items
    assert time.process_time() - started < 5


def test_results_find_the_calls_that_wait_in_linear_time():
    count = 20_000
    earlier = tuple(CallItem(call=ToolCall(call_id=f"c{place}", name="look", raw="{}")) for place in range(count))
    given = tuple(ResultItem(call_id=f"x{place}", name="look", parts=()) for place in range(count))
    started = time.process_time()
    found = with_known_results(given, earlier)
    assert time.process_time() - started < 5
    assert [item.call_id for item in found] == [f"c{place}" for place in range(count)]


async def test_more_steps_than_a_statement_takes_values_are_looked_for(shared_store):
    async with Runtime(Registry(), shared_store) as runtime:
        tables = Tables(runtime.database)
        await tables.open()
        await tables.add_step("t", "k39999", 1, "[]")
        assert await tables.steps("t", [f"k{place}" for place in range(40_000)]) == {"k39999": "[]"}


SIGNED = Answer(calls=(Ask("find", {"query": "x"}),))
FIND = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize(("keeps", "rows"), [(True, 1), (False, 0)])
async def test_with_keep_steps_off_nothing_of_a_models_answer_is_kept(gateway, tmp_path, keeps, rows):
    file = tmp_path / "groundwire.db"
    settings = ServerSettings(keep_steps=keeps)
    async with (
        gateway(SIGNED, upstream="gemini", store=f"sqlite:///{file}", server=settings) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        body = {"model": running.model, "messages": [{"role": "user", "content": "hi"}], "tools": [FIND]}
        answer = await client.post("/v1/chat/completions", json=body)
    with contextlib.closing(sqlite3.connect(file)) as store:
        (found,) = store.execute("SELECT count(*) FROM gateway_steps").fetchone()
    assert (answer.json()["choices"][0]["finish_reason"], found) == ("tool_calls", rows)


async def test_a_step_in_which_our_tools_had_a_part_is_kept_nevertheless(gateway, tmp_path):
    @tool(category="retrieval")
    async def kb_search(query: str) -> dict:
        """Search."""
        return {"pages": [query]}

    file = tmp_path / "groundwire.db"
    script = (Answer(calls=(Ask("kb_search", {"query": "x"}),)), SIGNED)
    options = {"registry": Registry([kb_search]), "server": ServerSettings(keep_steps=False)}
    async with (
        gateway(*script, store=f"sqlite:///{file}", **options) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        tools = [FIND, {"type": "groundwire", "name": "kb_*"}]
        body = {"model": running.model, "messages": [{"role": "user", "content": "hi"}], "tools": tools}
        answer = await client.post("/v1/chat/completions", json=body)
    with contextlib.closing(sqlite3.connect(file)) as store:
        (found,) = store.execute("SELECT count(*) FROM gateway_steps").fetchone()
    assert (answer.json()["choices"][0]["finish_reason"], found) == ("tool_calls", 1)
