"""Agents and a pipeline over models that say what they were told to say."""

from groundwire import Runtime, Settings
from groundwire.apps.supplier.agents import Roles, SupplierAgents, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import GroundingMode, HistoryEntry, SourcingRequest
from groundwire.testing import Answer, FakeClock, ScriptedModel, ScriptedProvider

REQUEST = SourcingRequest(
    session_id="s-1", item="帆布手提袋", qty=50, want="印logo", supplier_id="sup-7", supplier_name="某某箱包厂"
)
NOON = 1_773_194_400.0  # Wednesday 2026-03-11 10:00 in Shanghai


def bot(content):
    return HistoryEntry(role="bot", content=content)


def supplier(content, **more):
    return HistoryEntry(role="supplier", content=content, **more)


def one_by_one(answers):
    """A model that says these, whatever was said before: a scripted one counts the bot's earlier lines as its own."""
    left = iter(answers)

    def answer(_):
        said = next(left)
        return Answer(said) if isinstance(said, str) else said

    return answer


def agents_saying(*answers, mode=GroundingMode.STRICT, clock=None, store="memory://", otherwise=None, faults=None):
    clock = clock or FakeClock(NOON)
    runtime = Runtime(supplier_registry(), store, settings=with_grounding(Settings(), mode), clock=clock)
    models = ScriptedProvider(ScriptedModel(otherwise=otherwise or one_by_one(answers), faults=faults), clock=clock)
    return SupplierAgents(runtime, models, Roles())
