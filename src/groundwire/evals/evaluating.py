"""A plan carried out into a report folder: what lies there already is not done again, and every form is written at the end."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from groundwire.assembly import Settings
from groundwire.evals.catalogue import BASELINE
from groundwire.evals.planning import Plan
from groundwire.evals.reaching import open_reach
from groundwire.evals.reports import ReportFolder, write_report
from groundwire.evals.running import Cache, EvalRunner, Finished, Progress
from groundwire.evals.statistics import Cell, Summary


class Evaluated(Struct, frozen=True, kw_only=True):
    summary: Summary
    finished: Finished


async def evaluate(
    plan: Plan,
    folder: ReportFolder,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    jobs: int = 1,
    cache: Cache | None = None,
    max_cost: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Evaluated:
    async with open_reach(plan, settings, environ) as reached:
        with folder.open_trials() as trials:
            runner = EvalRunner(
                plan,
                reached.reach,
                jobs=jobs,
                done={record.trial.name: record for record in folder.read_records()},
                on_record=trials.append,
                on_progress=on_progress,
                cache=cache,
                judges=reached.judges,
                max_cost=max_cost,
            )
            finished = await runner.run()
    conclude = plan.suite.conclude
    totals = () if conclude is None else await conclude(finished.records, folder.path)
    return Evaluated(summary=write_report(folder, plan.run, finished.records, totals=totals), finished=finished)


def shortfalls(summary: Summary, least: float) -> tuple[Cell, ...]:
    """The combinations of model, profile and strategy that pass less often, and their scenarios that could not be scored.

    The baseline is no model, and nobody expects it to pass.
    """
    below = [cell for cell in summary.combinations if cell.rate is None or cell.rate < least]
    unscored = [cell for cell in summary.cells if cell.rate is None]
    return tuple(cell for cell in (*below, *unscored) if cell.model != BASELINE)
