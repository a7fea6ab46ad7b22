"""Agents with four tools and a scripted model, and what of those tools really ran."""

import pytest

from groundwire import Agent, tool
from groundwire.testing import FakeClock, ScriptedModel, ScriptedProvider


@pytest.fixture
def ran():
    """The names of the tools that really ran, in order."""
    return []


@pytest.fixture
def tools(ran):
    @tool
    async def find_order(number: int) -> dict:
        """Find an order."""
        ran.append("find_order")
        return {"number": number, "state": "sent"}

    @tool
    async def weather(city: str) -> dict:
        """Tell the weather."""
        ran.append("weather")
        return {"city": city, "sky": "clear"}

    @tool(category="action")
    async def cancel_order(number: int) -> dict:
        """Cancel an order."""
        ran.append("cancel_order")
        return {"cancelled": number}

    @tool(category="action", confirm=True)
    async def pay(amount: int) -> dict:
        """Pay an amount."""
        ran.append("pay")
        return {"paid": amount}

    return [find_order, weather, cancel_order, pay]


@pytest.fixture
async def make(tools):
    made = []

    def make_agent(*answers, rules=(), faults=None, **options):
        model = ScriptedModel(*answers, rules=rules, faults=faults)
        agent = Agent("sim/a", **{"tools": tools, "models": ScriptedProvider(model, clock=FakeClock()), **options})
        made.append(agent)
        return agent

    yield make_agent
    for agent in made:
        await agent.close()
