"""`groundwire eval replay`: stored runs against another model, prompt or version of the tools, as an evaluation."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.changes import change_options, read_changes
from groundwire.cli.options import TEXT, global_options, json_option, reports_option, tenant_option
from groundwire.cli.output import clean, plural, print_json, print_text, reserved_stdout

if TYPE_CHECKING:
    from groundwire.assembly import Runtime, Settings
    from groundwire.evals.records import TrialRecord
    from groundwire.replays import Changes

MOST_TRIALS = 1000


@click.command("replay")
@click.argument("run_ids", type=TEXT, metavar="RUN…", nargs=-1, required=True)
@change_options
@click.option("--trials", type=click.IntRange(1, MOST_TRIALS), default=1, show_default=True, help="How often each.")
@reports_option
@tenant_option
@json_option
@global_options()
@click.pass_context
def eval_replay(
    context: click.Context,
    run_ids: tuple[str, ...],
    *,
    model: str | None,
    instructions: Path | None,
    tools: Path | None,
    trials: int,
    execute: bool,
    reports: Path,
    tenant: str,
    as_json: bool,
) -> None:
    """Run stored runs again with something changed, and report where they come out differently.

    Results come from the record. The exit code is 0 when every run makes the same calls, says the same words and ends the
    same way, 1 when not.
    """
    if model is None and instructions is None and tools is None:
        raise click.UsageError("give it --model, --instructions or --tools: else there is nothing to find out")
    with reserved_stdout() as out:
        from groundwire.cli.opening import read, read_settings

        settings = read_settings()
        changes = read_changes(model=model, instructions=instructions, tools=tools, execute=execute)
        folder, records = read(
            lambda runtime: _replay(runtime, settings, run_ids, changes, trials, reports, tenant),
            settings=settings,
            runs_tools=execute,
        )
        if as_json:
            print_json(records, file=out)
        else:
            for record in records:
                print_text(clean(_tell(record)), file=out)
            passed = sum(record.passed for record in records)
            print_text(f"{passed} of {plural(len(records), 'replay')} came out the same. Report: {folder}", file=out)
    if not all(record.passed for record in records):
        context.exit(1)


async def _replay(
    runtime: "Runtime",
    settings: "Settings",
    run_ids: tuple[str, ...],
    changes: "Changes",
    trials: int,
    reports: Path,
    tenant: str,
) -> "tuple[Path, tuple[TrialRecord, ...]]":
    from groundwire.assembly import open_models, refuse_stand_in
    from groundwire.evals.replaying import plan_replays, replay_trials
    from groundwire.evals.reports import ReportFolder, write_report

    now = datetime.now(UTC)
    run = await plan_replays(runtime, run_ids, changes, now=now, trials=trials, tenant=tenant)
    models = open_models(settings)
    try:
        if changes.model is not None:
            refuse_stand_in(models, changes.model)
        folder = ReportFolder.create(reports, run, now=now)
        with folder.open_trials() as kept:
            records = await replay_trials(
                runtime, run, changes, models, price=models.cost_of, tenant=tenant, on_record=kept.append
            )
    finally:
        await models.close()
    write_report(folder, run, records)
    return folder.path, records


def _tell(record: "TrialRecord") -> str:
    head = f"{record.trial.scenario} · {record.trial.number}: {record.status.value}"
    wrong = [finding.message for finding in record.findings if not finding.passed]
    told = wrong or ([record.message] if record.message else [])
    return "\n".join([head, *(f"  {message}" for message in told)])
