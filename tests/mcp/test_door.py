"""What the door offers and does, as the official client sees it, in both eras of the protocol."""

import asyncio

import mcp_types as types
import pytest
from mcp import Client, MCPError

from groundwire import Registry, Runtime, Tool, tool
from groundwire.mcp import door as doors
from groundwire.runtime.policies.access import Mask
from tests.mcp.stage import ALL, KEYED, LIMIT, Gate, kept, listening, stage, text_of

ERAS = ("legacy", "2026-07-28")


@pytest.fixture
async def runtime():
    async with Runtime(stage()) as runtime:
        yield runtime


@pytest.fixture(params=ERAS)
async def client(request, runtime):
    async with listening(runtime) as url, kept(Client(url, mode=request.param)) as client:
        yield client


async def test_tools_are_listed_by_their_wire_names_with_schemas_and_hints(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == sorted(each.wire_name for each in ALL if each.tool_id != "inner")
    look_up = tools["look_up"]
    assert look_up.description == "Look something up."
    assert look_up.input_schema["required"] == ["key"]
    assert look_up.output_schema == KEYED
    assert (look_up.annotations.read_only_hint, look_up.annotations.destructive_hint) == (True, False)
    assert (tools["wipe"].annotations.read_only_hint, tools["wipe"].annotations.destructive_hint) == (False, True)


async def test_a_result_is_structured_and_also_text(client):
    result = await client.call_tool("look_up", {"key": "a"})
    assert (result.is_error, result.structured_content, text_of(result)) == (False, {"key": "a"}, ['{"key":"a"}'])


async def test_a_text_is_passed_on_as_it_is(client):
    result = await client.call_tool("say", {"text": "hi"})
    assert (result.structured_content, text_of(result)) == (None, ["hi"])


async def test_an_empty_result_says_so(client):
    assert text_of(await client.call_tool("say", {"text": ""})) == ["(no output)"]


async def test_content_in_the_protocols_own_form_is_passed_on(client):
    result = await client.call_tool("picture", {})
    assert [block.type for block in result.content] == ["text", "image"]
    assert result.structured_content is None


async def test_what_is_almost_content_is_passed_on_as_data(client):
    result = await client.call_tool("odd", {})
    assert text_of(result) == ['{"content":[{"type":"text","text":"a","annotations":5}]}']


async def test_warnings_stand_beside_the_result(client):
    assert text_of(await client.call_tool("warn", {})) == ["{}", "Warning: mind the gap"]


async def test_wrong_arguments_are_a_result_that_the_model_can_read(client):
    result = await client.call_tool("look_up", {"kee": "a"})
    assert result.is_error
    assert text_of(result)[0].startswith("VALIDATION (UNKNOWN_ARGUMENT): ")
    assert result.meta["groundwire/error"] == {"type": "VALIDATION", "detail": "UNKNOWN_ARGUMENT"}


@pytest.mark.parametrize("name", ["nowhere", "inner"])
async def test_a_tool_that_is_hidden_is_refused_like_one_that_there_is_not(client, runtime, name):
    with pytest.raises(MCPError) as raised:
        await client.call_tool(name, {})
    assert raised.value.error.code == types.INVALID_PARAMS
    assert raised.value.error.message == f"There is no tool named {name!r}. Use only the tools that were declared."
    [record] = [record async for record in runtime.store.audit_records()]
    assert (record.entry.success, record.entry.caller) == (False, "model")


async def test_progress_comes_before_the_result_and_grows(client):
    told = []

    async def tell(progress, total, message):
        told.append((progress, total, message))

    result = await client.call_tool("count", {"to": 3}, progress_callback=tell)
    assert text_of(result) == ["3"]
    assert told == [(1.0, 3.0, "at 1"), (2.0, 3.0, "at 2"), (3.0, 3.0, "at 3")]


async def test_a_tool_that_needs_a_person_says_which_question_is_waited_for(client, runtime):
    waiting = await client.call_tool("wipe", {"disk": "a"})
    [question] = await runtime.approvals()
    assert waiting.is_error
    assert text_of(waiting)[0].startswith("CONFIRMATION_REQUIRED: wipe needs a person's agreement first")
    assert text_of(waiting)[1] == f"The question has the id {question.confirmation_id}."
    assert waiting.meta["groundwire/confirmation"]["id"] == question.confirmation_id
    await runtime.approve(question.confirmation_id, by="operator")
    done = await client.call_tool("wipe", {"disk": "a"})
    assert (done.is_error, done.structured_content) == (False, {"wiped": "a"})


async def test_a_key_makes_a_call_repeatable(client):
    meta = {"groundwire/idempotencyKey": "k1"}
    first = await client.call_tool("say", {"text": "hi"}, meta=meta)
    again = await client.call_tool("say", {"text": "hi"}, meta=meta)
    other = await client.call_tool("say", {"text": "ho"}, meta=meta)
    assert "groundwire/replayed" not in first.meta
    assert again.meta["groundwire/replayed"] is True
    assert text_of(other)[0].startswith("CONFLICT (KEY_REUSED): ")


async def test_a_key_that_is_no_text_is_a_mistake_of_the_request(client):
    with pytest.raises(MCPError) as raised:
        await client.call_tool("say", {"text": "hi"}, meta={"groundwire/idempotencyKey": 5})
    assert raised.value.error.code == types.INVALID_PARAMS


async def test_every_call_is_recorded_with_where_it_came_from(client, runtime):
    await client.call_tool("say", {"text": "hi"})
    [record] = [record async for record in runtime.store.audit_records()]
    who = "mcp:mcp" if client.protocol_version == "2026-07-28" else "mcp:client"  # told once only, before the handshake
    assert (record.entry.tool_name, record.entry.caller, record.entry.actor) == ("say", "model", who)


@pytest.mark.parametrize("count_of_tools", [doors.PAGE_TOOLS, doors.PAGE_TOOLS + 1])
async def test_a_listing_has_pages(count_of_tools):
    many = [Tool(f"t{number:04}", handler=lambda: None) for number in range(count_of_tools)]
    async with asyncio.timeout(LIMIT), Runtime(Registry(many)) as runtime:
        door = doors.Door(runtime)
        tools, cursor = await door.list_tools({})
        assert len(tools) == doors.PAGE_TOOLS
        assert (cursor is None) == (count_of_tools == doors.PAGE_TOOLS)
        if cursor is not None:
            rest, end = await door.list_tools({}, cursor)
            assert ([each["name"] for each in rest], end) == ([f"t{count_of_tools - 1:04}"], None)


@pytest.mark.parametrize("cursor", ["?", "", "4pyT4pyT"])
async def test_a_cursor_that_was_never_given_out_is_refused_or_harmless(client, cursor):
    try:
        await client.list_tools(cursor=cursor)
    except MCPError as error:
        assert error.error.code == types.INVALID_PARAMS  # noqa: PT017 - either is right, a crash is not
    else:
        assert cursor != "?"


async def test_masked_tools_are_neither_listed_nor_called(runtime):
    def guest(scope):
        return {"mask": Mask(deny=("say",))}

    async with asyncio.timeout(LIMIT), listening(runtime, identify=guest) as url, Client(url) as client:
        assert "say" not in [each.name for each in (await client.list_tools()).tools]
        with pytest.raises(MCPError):
            await client.call_tool("say", {"text": "hi"})


async def test_large_outputs_can_be_read_in_parts():
    @tool(category="retrieval", spill=True)
    def large() -> dict[str, str]:
        """Give a lot."""
        return {"text": "x" * 300_000}

    async with (
        asyncio.timeout(LIMIT),
        Runtime(Registry([large])) as runtime,
        listening(runtime) as url,
        Client(url, mode="legacy") as client,
    ):
        listed = {each.name: each for each in (await client.list_tools()).tools}
        spilled = (await client.call_tool("large", {})).structured_content["spilled"]
        part = await client.call_tool("read_spilled", {"ref": spilled["ref"], "limit": 5})
    assert (sorted(listed), listed["large"].output_schema) == (["large", "read_spilled"], None)
    assert part.structured_content["text"] == '{"tex'


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_its_client_gives_up_is_cancelled_and_recorded(era):
    gate = Gate()
    async with (
        asyncio.timeout(LIMIT),
        Runtime(stage(gate.tool())) as runtime,
        listening(runtime) as url,
        Client(url, mode=era) as client,
    ):
        call = asyncio.create_task(client.call_tool("wait", {}))
        await gate.begun.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await gate.ended.wait()
        assert text_of(await client.call_tool("say", {"text": "still here"})) == ["still here"]
    assert sorted(record.entry.error or "" for record in [r async for r in runtime.store.audit_records()]) == [
        "",
        "CANCELLED: wait was cancelled.",
    ]
