"""`groundwire replay`: a recorded run again, without its tools, and how it comes out this time."""

import difflib
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.changes import change_options, read_changes
from groundwire.cli.options import TEXT, global_options, json_option, tenant_option
from groundwire.cli.output import clean, plural, print_json, print_text, reserved_stdout

if TYPE_CHECKING:
    from groundwire.assembly import Runtime, Settings
    from groundwire.contracts.canonical import JsonValue
    from groundwire.replays import Changes
    from groundwire.runtime.runs.comparing import Difference
    from groundwire.runtime.runs.replaying import ReplayReport

VALUE_CHARS = 160
ALIKE_CHARS = 20
"""So much of what two values share is shown before the place where they part."""
DIFF_LINES = 12


@click.command()
@click.argument("run_id", type=TEXT, metavar="RUN")
@change_options
@tenant_option
@json_option
@global_options()
@click.pass_context
def replay(
    context: click.Context,
    run_id: str,
    *,
    model: str | None,
    instructions: Path | None,
    tools: Path | None,
    execute: bool,
    tenant: str,
    as_json: bool,
) -> None:
    """Run a recorded run again and show what is different.

    As it is, nobody is asked and nothing runs: answers and results come from the record, and everything must come out
    the same. With another model, instructions or tools a model is asked, and results still come from the record. The
    exit code is 0 when calls, words and outcome are the same, 1 when not.
    """
    if execute and model is None and instructions is None and tools is None:
        raise click.UsageError("--execute needs --model, --instructions or --tools: an exact replay runs nothing")
    with reserved_stdout() as out:
        from groundwire.cli.opening import read, read_settings

        settings = read_settings()
        changes = read_changes(model=model, instructions=instructions, tools=tools, execute=execute)
        report = read(
            lambda runtime: _replay(runtime, settings, run_id, changes, tenant), settings=settings, runs_tools=execute
        )
        if as_json:
            print_json(report, file=out)
        else:
            for line in _tell(report, executed=execute):
                print_text(clean(line), file=out)
    if not report.same:
        context.exit(1)


async def _replay(
    runtime: "Runtime", settings: "Settings", run_id: str, changes: "Changes", tenant: str
) -> "ReplayReport":
    from groundwire.assembly import open_models, refuse_stand_in
    from groundwire.replays import replay_run

    if changes.is_exact:
        return await replay_run(runtime, run_id, changes, tenant=tenant)
    models = open_models(settings)
    try:
        if changes.model is not None:
            refuse_stand_in(models, changes.model)
        return await replay_run(runtime, run_id, changes, models=models, tenant=tenant)
    finally:
        await models.close()


def _tell(report: "ReplayReport", *, executed: bool) -> Iterator[str]:
    outcome = report.outcome.value if report.outcome is not None else "unfinished"
    came = f"{plural(report.steps, 'step')}, {outcome}"
    if report.exact and report.same:
        yield f"{report.run_id} replays exactly: {came}."
        return
    if report.same:
        yield f"{report.run_id} comes out the same: {came}."
    else:
        yield f"{report.run_id} comes out differently: {came}. {plural(len(report.differences), 'difference')}:"
    for step, differences in groupby(report.differences, key=lambda one: one.step):
        yield f"step {step}" if step else "at the beginning"
        for difference in differences:
            yield from _tell_difference(difference, executed=executed)


def _tell_difference(one: "Difference", *, executed: bool) -> Iterator[str]:
    name = one.name
    before, after = _show(one.recorded, one.replayed)
    match one.kind:
        case "call_added":
            yield f"  + calls {name} {after}"
        case "call_removed":
            yield f"  - calls {name} {before}"
        case "call_changed":
            yield f"  ~ calls {name} {before} → {after}"
        case "call_unrecorded":
            yield f"  ! {name} {after} is not in the record, and was {'carried out' if executed else 'not run'}"
        case "text":
            yield "  says:"
            yield from _tell_text(str(one.recorded), str(one.replayed))
        case "plan" if name == "instructions":
            yield "  plan instructions:"
            yield from _tell_text(str(one.recorded or ""), str(one.replayed or ""))
        case "plan" if name.startswith("tools."):
            word = "added" if one.recorded is None else "removed" if one.replayed is None else "changed"
            yield f"  plan: {name.removeprefix('tools.')} {word}"
        case _:
            yield f"  {' '.join(filter(None, (one.kind, name)))}: {before} → {after}"


def _tell_text(before: str, after: str) -> Iterator[str]:
    """The lines that changed, a few of them."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed = [line for line in islice(lines, 2, None) if not line.startswith("@@")]
    for line in changed[:DIFF_LINES]:
        yield f"    {line[0]} {line[1:]}"
    if len(changed) > DIFF_LINES:
        yield f"    … and {plural(len(changed) - DIFF_LINES, 'line')} more"


def _show(recorded: "JsonValue", replayed: "JsonValue") -> tuple[str, str]:
    """Values that differ, each in short. Of long ones that begin alike, the part where they do not."""
    import msgspec

    from groundwire.cli.runs import shorten

    one, other = ("nothing" if value is None else msgspec.json.encode(value).decode() for value in (recorded, replayed))
    parted = (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    begin = next(parted, min(len(one), len(other))) - ALIKE_CHARS
    if begin > 0 and max(len(one), len(other)) > VALUE_CHARS:
        one, other = f"…{one[begin:]}", f"…{other[begin:]}"
    return shorten(one, VALUE_CHARS), shorten(other, VALUE_CHARS)
