"""The two agents: the bot that talks, and the summary agent that reads what was said. Each is one run of the loop.

Neither keeps anything between calls; what they need is handed to them, and what they found is handed back.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from groundwire import (
    Agent,
    ConfigError,
    Outcome,
    Overrides,
    PolicyRule,
    Provider,
    Registry,
    RunResult,
    Runtime,
    Sampling,
    Settings,
    Usage,
    presets,
    say_for_user,
)
from groundwire.apps.supplier.contracts import (
    Goal,
    GroundingMode,
    HistoryEntry,
    SourcingRequest,
    Status,
    TraceEntry,
)
from groundwire.apps.supplier.conversing import describe, to_items
from groundwire.apps.supplier.grounding import turn_at
from groundwire.apps.supplier.prompts import read_prompt
from groundwire.apps.supplier.thinking import strip_thinking
from groundwire.apps.supplier.traces import read_trace

TOOLS = Path(__file__).parent / "tools"
BOT_TOOLS = ("log_data", "note_blocker", "note_file_request", "acknowledge_media")
SUMMARY_TOOLS = ("emit_signal", "extract_timing", "flag_escalation")
SAMPLING = Sampling(temperature=0.1)
MAX_OUTPUT_TOKENS = 4000
MAX_STEPS = 6
_NO_WORDS = frozenset({Outcome.CUT_OFF, Outcome.PROVIDER_ERROR, Outcome.CANCELLED, Outcome.REFUSED})
"""After these, text is half a sentence or none of the bot's."""


Price: TypeAlias = Callable[[str, Usage], float | None]


class Roles(Struct, frozen=True, kw_only=True):
    """Which model plays whom. Moving to another model is a change of an alias in the catalogue, or of a name here."""

    bot: str = "gemini-pro"
    simulator: str = "gemini-flash"
    summary: str = "gemini-pro"
    judge: str = "gemini-pro"


class BotTurn(Struct, frozen=True, kw_only=True):
    """What the bot said and asked for in one turn. Without a reply, `failure` says why."""

    reply: str
    trace: tuple[TraceEntry, ...]
    failure: str = ""
    run_id: str = ""


class Summary(Struct, frozen=True, kw_only=True):
    text: str
    trace: tuple[TraceEntry, ...]
    failure: str = ""
    run_id: str = ""


def supplier_registry() -> Registry:
    """The tools of both agents. Each agent is offered its own only."""
    return Registry.build(TOOLS / "bot").with_tools(Registry.build(TOOLS / "summary"))


def with_grounding(settings: Settings, mode: GroundingMode) -> Settings:
    """The settings, with calls of these tools refused for want of evidence (strict) or merely noted (report)."""
    from msgspec.structs import replace

    rule = PolicyRule(tools=(*BOT_TOOLS, *SUMMARY_TOOLS), limits=Overrides(grounding=mode.value))
    return replace(settings, policies=(*settings.policies, rule))


class SupplierAgents:
    """Both agents over one runtime and one set of models."""

    def __init__(
        self,
        runtime: Runtime,
        models: Provider,
        roles: Roles,
        *,
        settings: Mapping[str, Any] = MappingProxyType({}),
        sampling: Sampling = SAMPLING,
        price: Price | None = None,
        on_run: Callable[[RunResult], None] | None = None,
    ) -> None:
        """`settings` are those of tool calling that a model needs, beside the agents' own; `on_run` sees every run."""
        missing = [name for name in (*BOT_TOOLS, *SUMMARY_TOOLS) if name not in runtime.registry]
        if missing:
            raise ConfigError(f"The runtime has no tool {missing[0]!r}.", hint="Runtime(supplier_registry(), …)")
        self.runtime = runtime
        self._on_run = on_run
        shared: dict[str, Any] = {"runtime": runtime, "models": models, "sampling": sampling, "price": price}
        self._bot = _agent("supplier-bot", roles.bot, BOT_TOOLS, settings, shared)
        self._summary = _agent("supplier-summary", roles.summary, SUMMARY_TOOLS, settings, shared)

    async def call_bot(
        self,
        request: SourcingRequest,
        goals: Sequence[Goal],
        history: Sequence[HistoryEntry],
        trace: Sequence[TraceEntry],
        *,
        situation: str = "",
        aside: str = "",
        run_id: str = "",
        tenant: str = "default",
    ) -> BotTurn:
        """One turn of the bot. `situation` is said to it beforehand, `aside` in place of a supplier who said nothing."""
        prompt = read_prompt("bot")
        about = f"\n# 当前情况\n{situation}" if situation else ""
        instructions = prompt.fill(**describe(request, goals, trace), situation=about)
        result = await self._run(self._bot, instructions, history, aside, run_id, tenant, request.session_id)
        made = read_trace(result.items, turn_at(history, len(history)), self.runtime.registry)
        words = "" if result.outcome in _NO_WORDS else strip_thinking(result.text)
        return BotTurn(reply=words, trace=made, failure="" if words else _why(result), run_id=result.run_id)

    async def call_summary(
        self,
        request: SourcingRequest,
        goals: Sequence[Goal],
        history: Sequence[HistoryEntry],
        trace: Sequence[TraceEntry],
        status: Status,
        *,
        run_id: str = "",
        tenant: str = "default",
    ) -> Summary:
        prompt = read_prompt("summary")
        instructions = prompt.fill(**describe(request, goals, trace), status=status.value)
        aside = "（对话到此结束。请按规则发出信号，然后总结。）"
        result = await self._run(self._summary, instructions, history, aside, run_id, tenant, request.session_id)
        made = read_trace(result.items, turn_at(history, len(history)), self.runtime.registry)
        words = "" if result.outcome in _NO_WORDS else strip_thinking(result.text)
        return Summary(text=words, trace=made, failure="" if words else _why(result), run_id=result.run_id)

    async def _run(
        self,
        agent: Agent,
        instructions: str,
        history: Sequence[HistoryEntry],
        aside: str,
        run_id: str,
        tenant: str,
        session: str,
    ) -> RunResult:
        items = list(to_items(history))
        if aside:
            items.append(say_for_user(aside))
        changes: dict[str, Any] = {"instructions": instructions, "tenant": tenant, "session": session}
        result = await (
            agent.run_once(run_id, history=items, **changes) if run_id else agent.run(history=items, **changes)
        )
        if self._on_run is not None:
            self._on_run(result)
        return result


def _agent(
    name: str, model: str, tools: Sequence[str], settings: Mapping[str, Any], shared: Mapping[str, Any]
) -> Agent:
    own = {"tool_failure_policy": "tolerated"}, settings, {"tool_allowlist": list(tools)}
    return Agent(
        model,
        name=name,
        settings=presets.merge_settings(*own),
        limits={"max_steps": MAX_STEPS},
        max_output_tokens=MAX_OUTPUT_TOKENS,
        notices=False,
        approvals="answer",
        **shared,
    )


def _why(result: RunResult) -> str:
    failure = result.failure
    return f"{result.outcome.value}: {failure.message}" if failure is not None else result.outcome.value
