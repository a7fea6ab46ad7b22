"""A turn has an end, and rules have tools."""

import logging

import pytest

from groundwire import Overrides, PolicyRule, Settings, Tool
from groundwire.contracts.errors import ConfigError

ONE = Tool("one", description="One.", handler=lambda: 1)


async def test_a_call_on_a_turn_that_has_ended_is_a_mistake(make):
    runtime = make(ONE)
    async with runtime.turn(session="s") as turn:
        assert (await runtime.call("one", turn=turn)).ok
    with pytest.raises(ConfigError):
        await runtime.call("one", turn=turn)


@pytest.mark.parametrize(("pattern", "warned"), [("one", False), ("o*", False), ("onee", True)])
async def test_a_rule_that_names_no_tool_is_pointed_out(make, caplog, pattern, warned):
    settings = Settings(policies=(PolicyRule(tools=(pattern,), limits=Overrides(confirm=False)),))
    with caplog.at_level(logging.WARNING, "groundwire"):
        await make(ONE, settings=settings).call("one")
    assert any("no tool has such a name" in record.message for record in caplog.records) is warned
