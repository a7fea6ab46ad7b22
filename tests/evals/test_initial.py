"""A first suite from one's own tools."""

import msgspec
import pytest
import yaml

from groundwire import Registry, Tool
from groundwire.evals.initial import initial_suite
from groundwire.evals.scenarios import Scenario, Suite
from groundwire.registry.sample import write_sample
from tests.evals.trying import told, try_suite


def read(text):
    plain = yaml.safe_load(text)
    return Suite(name=plain["name"], scenarios=msgspec.convert(plain["scenarios"], tuple[Scenario, ...]))


def arguments(suite, scenario):
    return next(one for one in suite.scenarios if one.id == scenario).checks[0].calls[0].arguments


async def test_the_first_suite_of_the_sample_runs_at_once_and_tells_models_apart(tmp_path):
    write_sample(tmp_path)
    tools = tmp_path / "tools"
    suite = read(initial_suite(Registry.build(tools), tools=str(tools), file="evals/tools.yaml"))
    records = await try_suite(suite, "perfect", "tags")
    assert told(records, "perfect") == {
        "happy_get_weather": ("passed", ""),
        "happy_send_note": ("passed", ""),
        "missing_argument_get_weather": ("passed", ""),
        "chat_only": ("passed", ""),
        "forbidden_send_note": ("passed", ""),
    }
    assert told(records, "tags") == {
        "happy_get_weather": ("failed", "missing_call"),
        "happy_send_note": ("failed", "missing_call"),
        "missing_argument_get_weather": ("failed", "missing_call"),
        "chat_only": ("passed", ""),
        "forbidden_send_note": ("passed", ""),
    }


def registry(**properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return Registry([Tool("find_order", description="Find.", parameters=parameters)])


def test_arguments_come_from_examples_and_otherwise_from_the_schema():
    made = registry(
        number={"type": "string", "examples": ["A-1042"]},
        pieces={"type": "integer", "minimum": 3},
        order_state={"type": "string"},
        kind={"enum": ["open", "closed"]},
    )
    suite = read(initial_suite(made, tools="tools", file="f"))
    assert arguments(suite, "happy_find_order") == {
        "number": "A-1042",
        "pieces": 3,
        "order_state": "example order state",
        "kind": "open",
    }


def test_a_tool_whose_arguments_nobody_can_make_up_is_named_and_left_out():
    text = initial_suite(registry(number={"type": "string", "pattern": "^[A-Z]-[0-9]{4}$"}), tools="tools", file="f")
    assert "No arguments could be made up for find_order" in text
    assert [one.id for one in read(text).scenarios] == ["chat_only"]


def test_a_tool_without_required_arguments_cannot_lack_one():
    made = Registry([Tool("ping", description="Ping.", parameters={"type": "object", "properties": {}})])
    suite = read(initial_suite(made, tools="tools", file="f"))
    assert [one.id for one in suite.scenarios] == ["happy_ping", "chat_only", "forbidden_ping"]


@pytest.mark.parametrize("exposure", ["model", "internal"])
def test_only_what_models_see_is_tried(exposure):
    made = Registry([Tool("ping", description="Ping.", parameters={"type": "object"}, exposure=exposure)])
    ids = [one.id for one in read(initial_suite(made, tools="tools", file="f")).scenarios]
    assert ("happy_ping" in ids) is (exposure == "model")
