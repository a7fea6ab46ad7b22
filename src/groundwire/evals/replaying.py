"""Stored runs against another model, prompt or version of the tools, as an evaluation whose scenarios are the runs.

What the record says is right here, and every difference is a finding. Results come from the record; a call that it lacks
is carried out only where that was asked for. Reports and comparisons are made of these records as of any others.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from groundwire import __version__
from groundwire.contracts.canonical import JsonValue, dump_json
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, ResultItem
from groundwire.contracts.ports import Provider
from groundwire.evals.records import (
    Blame,
    CallTrace,
    EvalRun,
    Finding,
    Status,
    Tokens,
    Trial,
    TrialRecord,
    as_json,
    new_run_id,
)
from groundwire.evals.trials import blame_for, traced
from groundwire.providers.router import who_answers
from groundwire.replays import Changes, replay_run
from groundwire.runtime.runs.comparing import Difference
from groundwire.runtime.runs.replaying import ReplayReport
from groundwire.runtime.runs.runner import Price, no_price
from groundwire.runtime.runs.tapes import read_shown
from groundwire.runtime.runs.traces import read_trace
from groundwire.runtime.runtime import Runtime

STRATEGY, PROFILE = "replay", "recorded"
_SHOWN = 160
_AS_RECORDED = Failure(kind=FailureKind.SERVER, message="The provider failed as it did in the record.")


async def plan_replays(
    runtime: Runtime,
    run_ids: Sequence[str],
    changes: Changes,
    *,
    now: datetime,
    trials: int = 1,
    tenant: str = "default",
) -> EvalRun:
    """What will be replayed. A run that is not there is NotFound before any model is asked."""
    if changes.is_exact:
        raise ConfigError("a replay that changes nothing tells nothing", hint="another model, instructions or tools")
    await runtime.open()
    models: dict[str, None] = {}
    for run_id in run_ids:
        trace = await read_trace(runtime.store, tenant, run_id)
        models[changes.model or trace.run.model] = None
    return EvalRun(
        run_id=new_run_id(now),
        suite=STRATEGY,
        models=tuple(models),
        profiles=(PROFILE,),
        strategies=(STRATEGY,),
        scenarios=tuple(dict.fromkeys(run_ids)),
        trials=trials,
        seed=0,
        is_live=True,
        version=__version__,
        created_at=now.isoformat(timespec="seconds"),
        notes=dict.fromkeys(models, _told(changes)),
    )


async def replay_trials(
    runtime: Runtime,
    run: EvalRun,
    changes: Changes,
    models: Provider,
    *,
    price: Price = no_price,
    tenant: str = "default",
    on_record: Callable[[TrialRecord], None] | None = None,
) -> tuple[TrialRecord, ...]:
    """One record for each run and trial, in the order of the plan."""
    records: list[TrialRecord] = []
    for run_id in run.scenarios:
        recorded = await read_trace(runtime.store, tenant, run_id)
        name = changes.model or recorded.run.model
        for number in range(1, run.trials + 1):
            trial = Trial(model=name, profile=PROFILE, strategy=STRATEGY, scenario=run_id, number=number)
            began, started_at = time.perf_counter(), _now()
            report = await replay_run(runtime, run_id, changes, models=models, price=price, tenant=tenant)
            latency = round((time.perf_counter() - began) * 1000, 3)
            made = record_of(trial, report, latency_ms=latency, started_at=started_at)
            record = msgspec.structs.replace(made, route=who_answers(models)(name, ())[0])
            records.append(record)
            if on_record is not None:
                on_record(record)
    return tuple(records)


def record_of(trial: Trial, report: ReplayReport, *, latency_ms: float = 0.0, started_at: str = "") -> TrialRecord:
    """A replay as a trial: passed where calls, words and outcome are those of the record."""
    findings = tuple(map(_finding, report.differences)) or (Finding(check=STRATEGY, passed=True),)
    wrong = next((finding for finding in findings if not finding.passed), None)
    blamed = blame_for(report.outcome, _failure(report))
    status, blame, code, message = Status.PASSED, None, "", ""
    if blamed is not None:
        status, (blame, code, message) = Status.INVALID, blamed
    elif wrong is not None:
        status, blame, code, message = Status.FAILED, Blame.MODEL, wrong.code, wrong.message
    return TrialRecord(
        trial=trial,
        seed=0,
        status=status,
        blame=blame,
        code=code,
        message=message,
        findings=findings,
        outcome=report.outcome.value if report.outcome is not None else "",
        text=report.text,
        steps=report.steps,
        calls=tuple(_calls(report)),
        conversation=tuple(map(as_json, report.items)),
        latency_ms=latency_ms,
        tokens=Tokens(input=report.usage.input, output=report.usage.output),
        cost=report.cost,
        run_ids=(report.run_id,),
        started_at=started_at,
    )


def _finding(one: Difference) -> Finding:
    """A change of the plan was asked for: it is told, and nothing is wrong with it."""
    name = f" of {one.name}" if one.name else ""
    message = f"step {one.step}: {one.kind}{name}: {_shown(one.recorded)} → {_shown(one.replayed)}"
    return Finding(
        check=STRATEGY,
        passed=one.kind == "plan",
        code=one.kind,
        message=message,
        detail={"step": one.step, "name": one.name, "recorded": one.recorded, "replayed": one.replayed},
    )


def _failure(report: ReplayReport) -> Failure:
    """Why the provider did not answer this time; where nothing is told of that, it failed as it did in the record."""
    failed = [one.replayed for one in report.differences if one.kind == "failure" and one.replayed is not None]
    return msgspec.convert(failed[-1], Failure) if failed else _AS_RECORDED


def _calls(report: ReplayReport) -> Iterator[CallTrace]:
    results = {item.call_id: read_shown(item) for item in report.items if isinstance(item, ResultItem)}
    for item in report.items:
        if isinstance(item, CallItem):
            result = results.get(item.call.call_id)
            if result is not None:
                yield traced(item.call, result)


def _told(changes: Changes) -> str:
    changed = {
        "other instructions": changes.instructions is not None,
        "other tools": changes.registry is not None,
        "calls carried out": changes.execute,
    }
    return ", ".join(word for word, is_so in changed.items() if is_so)


def _shown(value: JsonValue) -> str:
    text = dump_json(value).decode() if value is not None else "nothing"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
