"""What trust makes of a run before it begins: what is told of its tools, and whether it can be made to call them."""

from collections.abc import Iterator

from msgspec.structs import replace

from groundwire.contracts.errors import NotReliable
from groundwire.contracts.replies import WireWarning
from groundwire.contracts.tools import Exposure
from groundwire.contracts.trust import Trust
from groundwire.runtime.policies.trust import is_kept_from, is_reliable
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.surface import Surface


def heed_trust(options: RunOptions, surface: Surface, *, relaxes: bool) -> tuple[RunOptions, tuple[WireWarning, ...]]:
    """The options under which the run may begin, and what whoever asked for it should know.

    A model that is not reliable is not made to call: NotReliable, unless such runs are relaxed.
    """
    warnings = tuple(_restraints(surface))
    if options.settings.tool_use_mode != "enforced":
        return options, warnings
    judged = [trusted for tool in surface.offered() if (trusted := surface.trusted(tool.spec)) is not None]
    if is_reliable(judged):
        return options, warnings
    doubts = [one.why for one in judged if one.trust is not Trust.RELIABLE] or ["none of its tools may be used"]
    why = f"{options.model} is not reliable enough for it: {'; '.join(dict.fromkeys(doubts))}"
    if not relaxes:
        raise NotReliable(f"tool_use_mode cannot be enforced: {why}", hint="relaxed, or a model that is reliable")
    relaxed = replace(options, settings=replace(options.settings, tool_use_mode="relaxed"))
    note = WireWarning(code="enforced_relaxed", path="settings.tool_use_mode", message=f"relaxed, because {why}.")
    return relaxed, (*warnings, note)


def flag_enforced(model: str, reliability: str) -> tuple[WireWarning, ...]:
    """What to say of a model that must call where no card tells: `reliability` is the catalogue's word on it."""
    if reliability == Trust.RELIABLE:
        return ()
    message = f"it is enforced, and the catalogue says of how {model} calls tools: {reliability}."
    return (WireWarning(code="enforced_unreliable", path="settings.tool_use_mode", message=message),)


def _restraints(surface: Surface) -> Iterator[WireWarning]:
    for tool in surface.registry:
        spec, entry = tool.spec, surface.find(tool.spec.tool_id)
        if entry is None or not entry.allowed or entry.trusted is None or spec.exposure is not Exposure.MODEL:
            continue
        path = f"tools.{spec.wire_name}"
        if is_kept_from(entry.trusted, spec):
            yield WireWarning(code="trust_hidden", path=path, message=f"it is not offered: {entry.trusted.why}.")
        elif entry.asks_for_models:
            yield WireWarning(code="trust_ask", path=path, message=f"a person is asked first: {entry.trusted.why}.")
