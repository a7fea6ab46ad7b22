"""Plans: what is sent besides the conversation, in a stable order and with a digest that never changes by itself."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Tool
from groundwire.contracts.messages import say
from groundwire.registry import Registry
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.plans import Fingerprints, digest_of, make_plan, to_request, write_instructions
from groundwire.runtime.runs.settings import read_settings


def handler(a=0, b=""):
    return None


def a_tool(name, **more):
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}}
    return Tool(name=name, description=f"Do {name}.", parameters=schema, handler=handler, **more)


TOOLS = Registry([a_tool("z.last"), a_tool("first"), a_tool("middle")])
OPTIONS = RunOptions(model="m", instructions="Be brief.")


@pytest.mark.requirement("C-021")
def test_the_digest_of_a_plan_is_the_same_on_any_machine_and_in_any_year():
    assert digest_of(make_plan(OPTIONS, TOOLS)) == GOLDEN


def test_a_process_of_its_own_finds_the_same_digest():
    code = "from tests.runtime.runs.test_plans import *; print(digest_of(make_plan(OPTIONS, TOOLS)))"
    for seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout.strip() == GOLDEN


def test_tools_keep_the_order_of_the_registry():
    plan = make_plan(OPTIONS, TOOLS)
    assert [tool.name for tool in plan.tools] == [tool.wire_name for tool in TOOLS]
    assert plan == make_plan(OPTIONS, TOOLS)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"instructions": "Be long."},
        {"settings": read_settings({"tool_choice": "required"})},
        {"settings": read_settings({"request_overrides": {"route": "fallback"}})},
        {"settings": read_settings({"message_transforms": "assistant_tool_calls_content_null_if_blank"})},
        {"max_output_tokens": 7},
        {"fallbacks": ("n",)},
    ],
)
def test_whatever_is_sent_otherwise_changes_the_digest(change):
    fields = {"model": "m", "instructions": "Be brief.", **change}
    assert digest_of(make_plan(RunOptions(**fields), TOOLS)) != GOLDEN


def test_without_tools_nothing_is_said_about_them():
    plan = make_plan(RunOptions(model="m", settings=read_settings({"tool_choice": "required"})), ())
    assert (plan.tools, plan.tool_choice) == ((), None)


@pytest.mark.requirement("X-07")
@pytest.mark.parametrize(
    ("mode", "written"),
    [
        ("text", "Hello.\n\n# Tools\n\n## a\n\nAll about a."),
        ("voice", "Hello.\n\n# Tools\n\n- a: About a."),
    ],
)
def test_guides_are_whole_in_text_and_a_line_each_by_voice(mode, written):
    from msgspec.structs import replace

    spec = replace(a_tool("a").spec, documentation="All about a.", summary="About a.")
    silent = a_tool("b").spec
    assert write_instructions("Hello.", [spec, silent], mode) == written
    assert write_instructions("", [silent], mode) == ""


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=9)), max_size=6), st.integers(0, 6))
def test_a_fingerprint_depends_on_every_item_and_on_where_one_ends(said, place):
    items = [say(role, text) for role, text in said]
    whole = fingerprint(items)
    assert whole == fingerprint(items)
    assert whole != fingerprint([*items, say("user", "")])
    if place < len(items):
        changed = [*items]
        changed[place] = say(items[place].role, items[place].text + "!")
        assert whole != fingerprint(changed)


@given(st.lists(st.text(max_size=9), max_size=6), st.integers(0, 6))
def test_a_fingerprint_is_the_same_whichever_items_came_together(texts, place):
    items = [say("user", text) for text in texts]
    prints = Fingerprints()
    prints.add(items[:place])
    prints.add(items[place:])
    assert prints.take("plan") == fingerprint(items)


def fingerprint(items):
    prints = Fingerprints()
    for item in items:
        prints.add([item])
    return prints.take("plan")


def test_a_request_says_what_the_plan_says():
    plan = make_plan(OPTIONS, TOOLS)
    request = to_request(plan, [say("user", "hi")], stream=True)
    assert (request.model, request.tools, request.stream) == ("m", plan.tools, True)
    assert request.instructions[0].text == "Be brief."


GOLDEN = "3980c43e31746a1b43a9806144639030fae325e6d50c172ba99eaff78a0651b2"
