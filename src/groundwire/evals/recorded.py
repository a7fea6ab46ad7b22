"""A stored run as a scenario: what was asked, which tools there were, what they answered, and what came of it.

The tools of such a scenario are stubs that answer from the record, so it runs offline and carries nothing out. It holds
what the run held: whether that may be shown to others is for whoever keeps the file to say.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import CallItem, Item, Message, ResultItem, TextPart
from groundwire.contracts.requests import FunctionTool
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.contracts.runs import Outcome, Plan, Planned
from groundwire.evals.records import as_json
from groundwire.evals.scenarios import CallsCheck, Check, ExpectedCall, OutcomeCheck, RubricCheck, Scenario, TextCheck
from groundwire.evals.stubs import StubAnswer, StubError, StubSetup, StubTool
from groundwire.evals.yaml_writing import write_suite
from groundwire.providers.scripts import Answer, Ask
from groundwire.runtime.arguments import kept_id
from groundwire.runtime.runs.comparing import call_key, read_raw
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.tapes import read_shown
from groundwire.runtime.runs.traces import Asked, Trace

TextMode: TypeAlias = Literal["exact", "judged", "none"]
"""How the final text counts: word for word, by its meaning, or not at all."""

_HEAD = """Recorded of run {run}, which asked {model}. Its tools answer from the record, and nothing is carried out.

Doing the same again is right. Take away what does not matter: a call that another model may do without, arguments that
may be others, words that need not be these (`contains` and `matches` ask for less than `equals`)."""
_OPEN = frozenset({Outcome.AWAITING_APPROVAL, Outcome.CLIENT_CALLS, Outcome.PROVIDER_ERROR, Outcome.CANCELLED})
_MASKS = ("tool_allowlist", "tool_denylist")


def scenario_of(trace: Trace, *, text: TextMode = "exact") -> Scenario:
    """A scenario in which doing the same again is right. A ConfigError says why a run cannot be one."""
    run_id, options, ended = trace.run.run_id, trace.options, trace.ended
    if ended is None or ended.outcome in _OPEN:
        how = "has not ended" if ended is None else f"ended with {ended.outcome.value}"
        raise ConfigError(f"{run_id} {how}, so nobody knows how it should end.", hint="record one that was finished")
    if options.output is not None:
        raise ConfigError(f"{run_id} was asked for an answer of a fixed form, which a scenario cannot ask for.")
    said = (*trace.earlier, *trace.started.items)
    plan = _plan(trace)
    return Scenario(
        id=run_id,
        title=f"As recorded of {trace.run.model}",
        tags=("recorded",),
        environment="stubs",
        setup=_setup(plan, trace),
        instructions=plan.instructions,
        history=tuple(map(as_json, _shared(said[:-1]))),
        turns=(_words(said[-1:], run_id),),
        settings=_settings(options),
        limits=as_json(options.limits),
        checks=(*_checks(trace, ended.outcome), *_text_check(ended.text, text)),
        ideal=tuple(_ideal(trace, {tool.name for tool in plan.tools if isinstance(tool, FunctionTool)})),
    )


def recorded_suite(trace: Trace, *, text: TextMode = "exact") -> str:
    """The scenario as a suite of its own, in YAML."""
    run = trace.run
    head = _HEAD.format(run=run.run_id, model=run.model)
    return write_suite(run.run_id, "", [("", scenario_of(trace, text=text))], head=head)


def _plan(trace: Trace) -> Plan:
    """The first plan, with the tools of all of them."""
    plans = [body.plan for body in trace.entries if isinstance(body, Planned)] or [Plan(model=trace.run.model)]
    tools = {tool.name: tool for plan in plans for tool in plan.tools if isinstance(tool, FunctionTool)}
    return replace(plans[0], tools=tuple(tools.values()))


def _setup(plan: Plan, trace: Trace) -> JsonObject:
    tools = tuple(
        StubTool(name=tool.name, description=tool.description or "", parameters=tool.schema or {"type": "object"})
        for tool in plan.tools
        if isinstance(tool, FunctionTool)
    )
    return as_json(StubSetup(tools=tools, answers=tuple(_answers(trace))))


def _answers(trace: Trace) -> Iterator[StubAnswer]:
    """Under the arguments of the model, and under those that were carried out: corrected, or changed by a person."""
    records = {record.call_id: record for record in trace.calls}
    for asked in _asked(trace):
        record = records.get(kept_id(asked.call.call_id))
        result = decode_result(record.result) if record is not None else _shown(asked)
        if result is None:
            continue
        given = [read_raw(asked.call.raw), *([read_raw(record.raw)] if record is not None else [])]
        forms = {call_key(asked.call.name, value): value for value in given}
        for arguments in forms.values():
            if isinstance(arguments, dict):
                yield _answer(asked.call.name, arguments, result)


def _answer(tool: str, arguments: JsonObject, result: ToolResult) -> StubAnswer:
    if result.ok or result.error is None:
        return StubAnswer(tool=tool, arguments=arguments, data=result.data)
    error = StubError(type=result.error.type, message=result.error.message, detail=result.error.detail)
    return StubAnswer(tool=tool, arguments=arguments, error=error)


def _checks(trace: Trace, outcome: Outcome) -> Iterator[Check]:
    if outcome is not Outcome.COMPLETED:
        yield OutcomeCheck(equals=outcome)
    made = [asked for asked in _asked(trace) if (result := _shown(asked)) is not None and result.ok]
    is_ordered = all(len(step.asked) <= 1 for step in trace.steps())
    if made:
        yield CallsCheck(mode="order" if is_ordered else "subset", calls=tuple(map(_expected, made)))
    elif not any(True for _ in _asked(trace)):
        yield CallsCheck(none=("*",))


def _expected(asked: Asked) -> ExpectedCall:
    arguments = read_raw(asked.call.raw)
    return ExpectedCall(name=asked.call.name, arguments=arguments if isinstance(arguments, dict) else None, ok=True)


def _text_check(said: str, mode: TextMode) -> tuple[Check, ...]:
    if mode == "none" or not said.strip():
        return ()
    if mode == "exact":
        return (TextCheck(equals=said),)
    return (RubricCheck(question=f"Does the final answer tell the user the same as this one does? {said}"),)


def _ideal(trace: Trace, offered: set[str]) -> Iterator[Answer]:
    """What the model said and kept. What had to be asked for again was never part of the conversation."""
    for step in trace.steps():
        calls = tuple(_ask(asked, offered) for asked in step.asked)
        if calls or step.text.strip():
            yield Answer(text=step.text, calls=calls)


def _ask(asked: Asked, offered: set[str]) -> Ask:
    name, arguments = asked.call.name, read_raw(asked.call.raw)
    if isinstance(arguments, dict):
        return Ask(name, arguments, offered=name in offered)
    return Ask(name, raw=asked.call.raw, offered=name in offered)


def _asked(trace: Trace) -> Iterator[Asked]:
    return (asked for step in trace.steps() for asked in step.asked)


def _shown(asked: Asked) -> ToolResult | None:
    return read_shown(asked.shown) if asked.shown is not None else None


def _settings(options: RunOptions) -> JsonObject:
    """Without the masks: the stubs are those that were offered."""
    return {name: value for name, value in options.settings.as_dict().items() if name not in _MASKS}


def _words(asked: tuple[Item, ...], run_id: str) -> str:
    for item in asked:
        if isinstance(item, Message) and item.role == "user" and all(isinstance(part, TextPart) for part in item.parts):
            return item.text
    raise ConfigError(f"{run_id} was not asked in words alone, and a scenario's turns are words.")


def _shared(items: tuple[Item, ...]) -> Iterator[Item]:
    """What every model can be told; thoughts and what only one dialect can say stay behind."""
    for item in items:
        if isinstance(item, (Message, CallItem, ResultItem)):
            yield replace(item, private={})
