"""Both agents without a model: supplier chat read by rules, captured by tools, answered in a few fixed phrases.

It is what no model at all would achieve, and keeps everything running where there is no key. To whoever asks it, it is a
model like any other: it knows the request and nothing else.

    [simulator]
    script = "groundwire.apps.supplier.negotiator:negotiate"
"""

from groundwire import Clock, FunctionTool, ModelRequest, Provider
from groundwire.apps.supplier.negotiator.bot import answer_supplier
from groundwire.apps.supplier.negotiator.briefs import read_brief
from groundwire.apps.supplier.negotiator.summary import sum_up
from groundwire.testing import Answer, ScriptedModel, ScriptedProvider

__all__ = ["RULES", "negotiate", "rules_models"]

RULES = "rules"
"""What it is called where models have names."""


def negotiate(request: ModelRequest) -> Answer:
    """What the bot or the summary agent would say to this request, by the tools that it offers."""
    offered = {tool.name for tool in request.tools if isinstance(tool, FunctionTool)}
    brief = read_brief(request)
    if "emit_signal" in offered:
        return sum_up(brief)
    return answer_supplier(brief) if "log_data" in offered else Answer("好的，谢谢。")


def rules_models(clock: Clock) -> Provider:
    """The rules where models are wanted, whatever name they are asked by."""
    return ScriptedProvider(ScriptedModel(otherwise=negotiate), clock=clock, name=RULES)
