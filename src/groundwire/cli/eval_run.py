"""`groundwire eval SUITE`: models, profiles and strategies tried on scenarios, into a report folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.failures import FAILED, INTERRUPTED
from groundwire.cli.options import TEXT, F, Number, global_options, json_option, reports_option
from groundwire.cli.output import note, one_line, plural, print_json, print_table, print_text
from groundwire.cli.suites import APP_SUITES

if TYPE_CHECKING:
    from datetime import datetime

    from groundwire.assembly import Settings
    from groundwire.evals.evaluating import Evaluated
    from groundwire.evals.knobs import Knobs
    from groundwire.evals.planning import Plan
    from groundwire.evals.reports import ReportFolder

_REASONS = 3
_MAY_CHANGE = frozenset({"jobs", "max_cost"})
"""What a run that is gone on with may be told anew: none of it changes what is tried."""


def _knob(flags: str, name: str, explanation: str, **details: Any) -> Any:
    details.setdefault("type", TEXT)
    return click.option(*flags.split(","), name, help=explanation, **details)


def run_options(*, models: str = "--models", scenarios: str = "--scenarios") -> Callable[[F], F]:
    """What every command that runs a suite takes. A suite may have names of its own for its models and scenarios."""
    options = (
        _knob(
            models,
            "models",
            "Ids, aliases, vendors or tags; * and ! work. Default: simulated, with --live stable.",
            metavar="FILTER",
        ),
        _knob("--profiles", "profiles", "Sampling profiles by id or tag. Default: default.", metavar="FILTER"),
        _knob("--strategies", "strategies", "Settings to compare, such as default,reliability.", metavar="FILTER"),
        _knob(
            "--fallback-matrix",
            "fallback_matrix",
            "Compare the fallback for calls in text, off and on.",
            is_flag=True,
            type=bool,
        ),
        _knob(scenarios, "scenarios", "Ids, tags or presets. Default: the suite's own default.", metavar="FILTER"),
        _knob(
            "--trials", "trials", "How often each combination is tried. Default: 1.", type=click.IntRange(1, 100_000)
        ),
        _knob("--jobs", "jobs", "How many models are tried at once. Default: 1.", type=click.IntRange(1, 64)),
        _knob("--seed", "seed", "The same seed, the same trials. Default: 1.", type=click.IntRange(0, 2**31 - 1)),
        _knob("--live", "live", "Ask real models; needs a key.", is_flag=True, type=bool),
        _knob("--judge", "judge", "The model that answers rubrics.", metavar="MODEL"),
        _knob("--max-cost", "max_cost", "Stop when so many dollars are spent.", type=Number(0, min_open=True)),
        _knob("--catalogue", "catalogue", "More models, profiles and strategies, as TOML or Python.", metavar="FILE"),
        click.option("--dry-run", is_flag=True, help="Show what would be tried and what it would cost."),
        click.option(
            "--resume", type=click.Path(path_type=Path), metavar="FOLDER", help="Go on with a run that was stopped."
        ),
        click.option(
            "--cache", type=click.Path(path_type=Path), metavar="DIR", help="Keep results there, and use them again."
        ),
        reports_option,
        click.option("--min-pass", type=Number(0, 1), help="Fail where a combination passes less often, such as 0.96."),
        click.option("--quiet", is_flag=True, help="No progress on stderr."),
        json_option,
        global_options(),
    )

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command("run")
@click.argument("suite", type=TEXT, required=False)
@run_options()
@click.pass_context
def eval_run(context: click.Context, *, suite: str | None, **flags: Any) -> None:
    """Try models on the scenarios of a suite and write a report.

    SUITE is `workspace`, one of its presets such as `smoke`, or a file or folder of your own. Nobody real is asked unless
    --live or --models says so. Flags win over the variables OPENROUTER_*. A run that is stopped, by Ctrl-C or worse, is gone
    on with by --resume. The exit code is 1 where --min-pass is missed.
    """
    run_suite(context, suite=suite, **flags)


def run_suite(
    context: click.Context,
    *,
    suite: str | None,
    fallback_matrix: bool,
    dry_run: bool,
    resume: Path | None,
    cache: Path | None,
    reports: Path,
    min_pass: float | None,
    quiet: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """What the commands that run suites have in common; `flags` are knobs."""
    import asyncio
    import os
    from datetime import UTC, datetime

    from groundwire.cli.opening import read_settings
    from groundwire.evals.knobs import FALLBACK_MATRIX, read_knobs
    from groundwire.evals.reaching import require_reachable
    from groundwire.evals.reports import ReportFolder

    given = {name: value for name, value in flags.items() if value not in (None, False, {})}
    if fallback_matrix:
        if "strategies" in given:
            raise click.UsageError("--fallback-matrix is a choice of --strategies; give one of them.")
        given["strategies"] = FALLBACK_MATRIX
    settings = read_settings()
    knobs, now = read_knobs(os.environ), datetime.now(UTC)
    if "OPENROUTER_HTTP_ADAPTER" in os.environ:
        note("OPENROUTER_HTTP_ADAPTER chooses nothing here: there is one HTTP client for every provider.")
    if resume is not None:
        plan, knobs, folder = _resumed(resume, suite, given, settings, now, verbose=knobs.verbose)
    else:
        plan, knobs = _planned(knobs, suite, given, settings, now)
        folder = None
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return
    require_reachable(plan.models, settings, os.environ)
    folder = folder or ReportFolder.create(reports, plan.run, now=now)
    work = _carry_out(plan, folder, settings, knobs, cache, quiet=quiet)
    try:
        done = asyncio.run(work)
    except KeyboardInterrupt:
        note(f"\nStopped. Go on with: groundwire eval --resume {folder.path}")
        context.exit(INTERRUPTED)
    _tell(plan, folder, done, min_pass, as_json=as_json)
    is_short = min_pass is not None and (done.finished.left or _below(done, min_pass))
    if is_short or any(total.missing for total in done.summary.totals):
        context.exit(FAILED)


def _planned(
    knobs: "Knobs", suite: str | None, given: dict[str, Any], settings: "Settings", now: "datetime"
) -> "tuple[Plan, Knobs]":
    from msgspec.structs import replace

    from groundwire.evals.preparing import prepare

    if suite is None:
        raise click.UsageError("Name a suite, such as smoke, or a run to --resume.")
    knobs = replace(knobs, suite=suite, **given)
    return prepare(knobs, settings, now=now, suites=APP_SUITES), knobs


def _resumed(
    path: Path, suite: str | None, given: dict[str, Any], settings: "Settings", now: "datetime", *, verbose: int
) -> "tuple[Plan, Knobs, ReportFolder]":
    from msgspec.structs import replace

    from groundwire.evals.preparing import knobs_of, prepare_again
    from groundwire.evals.reports import ReportFolder

    named = [name for name in (*given.pop("options", {}), *given) if name not in _MAY_CHANGE]
    refused = ["SUITE"] if suite is not None else [f"--{name.replace('_', '-')}" for name in named]
    if refused:
        raise click.UsageError(f"A run is gone on with as it was begun; leave {refused[0]} out.")
    folder = ReportFolder(path)
    begun = folder.read_run()
    plan = prepare_again(begun, settings, now=now, suites=APP_SUITES)
    return plan, replace(knobs_of(begun), verbose=verbose, **given), folder


async def _carry_out(
    plan: "Plan", folder: "ReportFolder", settings: "Settings", knobs: "Knobs", cache: Path | None, *, quiet: bool
) -> "Evaluated":
    import os

    from groundwire.cli.eval_progress import Meter
    from groundwire.evals.caching import FolderCache
    from groundwire.evals.evaluating import evaluate

    meter = Meter(verbose=knobs.verbose, quiet=quiet)
    try:
        return await evaluate(
            plan,
            folder,
            settings,
            os.environ,
            jobs=knobs.jobs,
            cache=None if cache is None else FolderCache(cache),
            max_cost=knobs.max_cost,
            on_progress=meter,
        )
    finally:
        meter.close()


def _tell(plan: "Plan", folder: "ReportFolder", done: "Evaluated", min_pass: float | None, *, as_json: bool) -> None:
    import os

    from groundwire.evals.reports import append_step_summary, results_table, totals_table

    try:
        append_step_summary(folder.markdown_file.read_text(encoding="utf-8"), os.environ)
    except OSError as error:
        note(f"GITHUB_STEP_SUMMARY cannot be written: {error.strerror}.")  # the report is there all the same
    below = _below(done, min_pass)
    left, reason = done.finished.left, done.finished.reason
    if as_json:
        print_json(
            {
                "folder": str(folder.path),
                "run": plan.run,
                "left": left,
                "belowMinPass": below,
                "summary": done.summary,
            }
        )
    else:
        table = results_table(plan.run, done.summary)
        print_table(tuple(header.upper() for header in table.headers), table.rows, empty="Nothing was tried.")
        totals = totals_table(done.summary)
        if totals.rows:
            print_text("")
            print_table(tuple(header.upper() for header in totals.headers), totals.rows, empty="")
        print_text(f"\nReport: {folder.path}")
    _tell_invalid(done)
    if left:
        note(f"{plural(left, 'trial')} left: {reason}. Go on with: groundwire eval --resume {folder.path}")
    for name in below:
        note(f"below {min_pass:g}: {name}")
    for total in done.summary.totals:
        if total.missing:
            note(f"{total.name}: {total.count} of {total.of} ({', '.join(total.missing)})")


def _below(done: "Evaluated", min_pass: float | None) -> list[str]:
    from groundwire.evals.evaluating import shortfalls

    cells = shortfalls(done.summary, min_pass) if min_pass is not None else ()
    names = (" ".join(filter(None, (cell.model, cell.profile, cell.strategy, cell.scenario))) for cell in cells)
    return [f"{name}: {cell.passed}/{cell.scored}" for name, cell in zip(names, cells, strict=True)]


def _tell_invalid(done: "Evaluated") -> None:
    """Why trials say nothing about their models, the most frequent reasons first."""
    from collections import Counter

    reasons = Counter(
        f"{record.trial.scenario}: {record.blame or 'nobody'}, {record.code}: {one_line(record.message)}"
        for record in done.finished.records
        if not record.is_scored
    )
    for reason, count in reasons.most_common(_REASONS):
        note(f"{plural(count, 'trial')} invalid at {reason}")
    if len(reasons) > _REASONS:
        note(f"{plural(len(reasons) - _REASONS, 'more reason')} in the report")


def _show_plan(plan: "Plan", *, as_json: bool) -> None:
    import asyncio

    from groundwire.evals.forecasting import forecast

    forecasts = asyncio.run(forecast(plan))
    total = sum(one.trials for one in forecasts)
    known = [one.cost for one in forecasts if one.cost is not None]
    if as_json:
        print_json({"run": plan.run, "trials": total, "models": forecasts, "cost": sum(known)})
        return
    rows = (
        (
            one.model,
            ", ".join(one.profiles),
            str(one.trials),
            str(one.tokens.input),
            str(one.tokens.output),
            "unknown" if one.cost is None else f"${one.cost:.4f}",
        )
        for one in forecasts
    )
    print_table(("MODEL", "PROFILES", "TRIALS", "TOKENS IN", "TOKENS OUT", "ABOUT"), rows, empty="Nothing.")
    print_text(f"\nScenarios: {', '.join(plan.run.scenarios)}")
    print_text(f"Strategies: {', '.join(plan.run.strategies)}")
    unknown = len(forecasts) - len(known)
    besides = f", and {plural(unknown, 'model')} without a price" if unknown else ""
    print_text(f"{plural(total, 'trial')}, about ${sum(known):.4f}{besides}. Nobody was asked.")
