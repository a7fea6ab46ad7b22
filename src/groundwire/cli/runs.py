"""`groundwire runs`: what agents did, run by run and step by step."""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import (
    TEXT,
    global_options,
    json_option,
    limit_option,
    note_option,
    os_user,
    tenant_option,
)
from groundwire.cli.output import clean, plural, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.contracts.messages import Item
    from groundwire.contracts.replies import Usage
    from groundwire.contracts.runs import Answered, Ended, Run, RunBody, Started
    from groundwire.runtime.runs.traces import Trace

ROW_CHARS = 60
RESULT_CHARS = 600
DIGEST_CHARS = 12


@click.group()
def runs() -> None:
    """Look at what agents did, step by step."""


@runs.command("list")
@click.option("--session", type=TEXT, metavar="ID", help="Only the runs of this conversation.")
@click.option("--before", type=TEXT, default="", metavar="RUN", help="Go on after this one, the last of a listing.")
@limit_option
@tenant_option
@json_option
@global_options()
def list_runs(session: str | None, before: str, limit: int, tenant: str, *, as_json: bool) -> None:
    """List runs, the newest first."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.contracts.runs import RunStatus
    from groundwire.runtime.showing import show_run

    found = read(lambda runtime: runtime.store.list_runs(tenant, session_id=session, before=before, limit=limit))
    now = time.time()
    if as_json:
        print_json([show_run(run, now=now) for run in found])
        return
    rows = [
        (
            show_time(run.created_at),
            run.run_id,
            run.session_id or "-",
            run.model,
            run.outcome if run.status(now) is RunStatus.ENDED else run.status(now).value,
            shorten(run.text, ROW_CHARS),
        )
        for run in found
    ]
    print_table(("TIME", "RUN", "SESSION", "MODEL", "STATUS", "TEXT"), rows, empty="There are no runs.")


@runs.command("show")
@click.argument("run_id", type=TEXT, metavar="RUN")
@tenant_option
@json_option
@global_options()
def show_run(run_id: str, tenant: str, *, as_json: bool) -> None:
    """Tell what happened in a run. Long results are shortened here; --json has everything, the stored calls too."""
    from groundwire.cli.opening import read
    from groundwire.runtime.runs.traces import read_trace
    from groundwire.runtime.showing import show_trace

    trace = read(lambda runtime: read_trace(runtime.store, tenant, run_id))
    if as_json:
        print_json(show_trace(trace, now=time.time()))
        return
    for line in _tell(trace):
        print_text(clean(line))


@runs.command("resume")
@click.argument("run_id", type=TEXT, metavar="RUN")
@note_option
@tenant_option
@json_option
@global_options()
def resume_run(run_id: str, note: str, tenant: str, *, as_json: bool) -> None:
    """Have a run resumed by a process that works on jobs (`groundwire serve` or `groundwire jobs work`).

    To resume it here, and see its answer: groundwire chat --resume RUN.
    """
    from groundwire.cli.opening import change
    from groundwire.runtime.runs.actions import RunActions

    run = change(lambda runtime: RunActions(runtime).request_resume(run_id, by=os_user(), note=note, tenant=tenant))
    _confirm(run, "is due: the next process that works on jobs resumes it", as_json=as_json)


@runs.command("cancel")
@click.argument("run_id", type=TEXT, metavar="RUN")
@note_option
@tenant_option
@json_option
@global_options()
def cancel_run(run_id: str, note: str, tenant: str, *, as_json: bool) -> None:
    """Cancel a run. A process that executes it stops it within seconds."""
    from groundwire.cli.opening import change
    from groundwire.runtime.runs.actions import RunActions

    run = change(lambda runtime: RunActions(runtime).cancel(run_id, by=os_user(), note=note, tenant=tenant))
    _confirm(run, "will be cancelled" if run.cancel_requested else "is cancelled", as_json=as_json)


def _confirm(run: "Run", what: str, *, as_json: bool) -> None:
    from groundwire.runtime.showing import show_run

    if as_json:
        print_json(show_run(run, now=time.time()))
    else:
        print_text(f"{run.run_id} {what}.")


def shorten(text: str, chars: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 1]}…"


def _tell(trace: "Trace") -> Iterator[str]:
    from groundwire.cli.records import show_time

    run = trace.run
    where = f" in session {run.session_id}, turn {run.turn}" if run.session_id else ""
    yield f"{run.run_id}: {run.model}{where}, {show_time(run.created_at)}"
    for body in trace.entries:
        yield from _tell_entry(body)
    if trace.ended is None:
        yield run.status(time.time()).value


def _tell_entry(body: "RunBody") -> Iterator[str]:
    from groundwire.contracts import runs as entries

    match body:
        case entries.Started():
            yield from _tell_start(body)
        case entries.Planned():
            names = ", ".join(getattr(tool, "name", tool.kind) for tool in body.plan.tools)
            yield f"plan {body.digest[:DIGEST_CHARS]}: {body.plan.model}, {f'tools {names}' if names else 'no tools'}"
        case entries.Answered():
            yield from _tell_answer(body)
        case entries.Resulted():
            for item in body.items:
                yield f"  {getattr(item, 'name', item.kind)} gave {shorten(_words(item), RESULT_CHARS)}"
        case entries.Added():
            yield f"asked again, because of {body.reason}{', without tools' if body.without_tools else ''}"
            yield from _say("  we", body.items)
        case entries.Failed():
            yield f"step {body.step} failed: {body.failure.kind.value}: {body.failure.message}"
        case entries.Paused():
            for call_id, approval in body.waiting.items():
                yield f"  {call_id} waits: groundwire approvals approve {approval}"
        case entries.Ended():
            yield from _tell_end(body)


def _tell_start(body: "Started") -> Iterator[str]:
    if body.inherited:
        yield f"after {plural(body.inherited, 'earlier item')}"
    if body.after:
        yield f"after {body.after.run_id}"
    yield from _say("user", body.items[body.inherited :])
    if body.registry_version:
        yield f"registry {body.registry_version}"


def _tell_answer(body: "Answered") -> Iterator[str]:
    parts = [f"{body.duration_ms:.1f} ms"]
    if body.reply.usage is not None:
        parts.append(_tokens(body.reply.usage))
    if body.cost is not None:
        parts.append(f"cost {body.cost:g}")
    if not body.kept:
        parts.append("not kept")
    yield f"step {body.step} ({', '.join(parts)}), fingerprint {body.fingerprint[:DIGEST_CHARS]}"
    if body.reply.text:
        yield f"  says: {body.reply.text}"
    for item in body.reply.calls:
        yield f"  calls {item.call.name} {item.call.raw} as {item.call.call_id}"


def _tell_end(body: "Ended") -> Iterator[str]:
    cost = "" if body.cost is None else f", cost {body.cost:g}"
    counts = f"{plural(body.steps, 'step')}, {plural(body.calls, 'call')}, {_tokens(body.usage)}{cost}"
    yield f"ended: {body.outcome.value} ({counts})"
    if body.failure is not None:
        yield f"  {body.failure.kind.value}: {body.failure.message}"
    if body.text:
        yield f"  {body.text}"


def _say(who: str, items: "Iterable[Item]") -> Iterator[str]:
    for item in items:
        yield f"{who}: {_words(item)}"


def _words(item: "Item") -> str:
    text: str = getattr(item, "text", "")
    return text or f"({item.kind})"


def _tokens(usage: "Usage") -> str:
    return f"{usage.total or usage.input + usage.output} tokens"
