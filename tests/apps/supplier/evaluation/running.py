"""The suite carried out as `groundwire eval supplier` does, into a folder."""

from datetime import UTC, datetime

from groundwire import Settings
from groundwire.apps.supplier.evaluation import make_suite
from groundwire.evals.evaluating import evaluate
from groundwire.evals.knobs import Knobs
from groundwire.evals.preparing import prepare
from groundwire.evals.reports import ReportFolder

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


async def run_suite(folder, *, settings=None, environ=None, **knobs):
    """What came of it, and the report's folder."""
    settings = settings or Settings()
    plan = prepare(Knobs(suite="supplier", **knobs), settings, now=NOW, suites={"supplier": make_suite})
    report = ReportFolder.create(folder, plan.run, now=NOW)
    return await evaluate(plan, report, settings, environ or {}), report.path


def totals_of(done, model):
    return {total.name: (total.count, total.of) for total in done.summary.totals if total.model == model}


def counts_of(record, check):
    return next(finding.counts for finding in record.findings if finding.check == check)
