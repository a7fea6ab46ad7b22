"""What the records of a run add up to: how much was grounded, which tools were used, and how many facts were found."""

from collections.abc import Iterable, Sequence

from groundwire.apps.supplier.evaluation.cases import original_ten
from groundwire.evals import Total, TrialRecord

TOOLS = ("log_data", "note_blocker", "note_file_request")


def add_up(records: Sequence[TrialRecord]) -> tuple[Total, ...]:
    """By model. Grounding and tools are counted over the ten cases that have had figures from the beginning."""
    totals: list[Total] = []
    for model in dict.fromkeys(record.trial.model for record in records):
        scored = [record for record in records if record.trial.model == model and record.is_scored]
        ten = [record for record in scored if record.trial.scenario in original_ten()]
        totals += [
            Total(model=model, name="statuses as expected", count=_passed(scored, "status"), of=len(scored)),
            _counted(model, "facts of the recording found", scored, "rows", "found", "wanted"),
            _counted(model, "bot calls grounded, ten cases", ten, "captures", "grounded", "made"),
            _counted(model, "signals grounded, ten cases", ten, "signals", "grounded", "made"),
        ]
        totals += [
            Total(model=model, name=f"{tool} used, ten cases", count=_uses(ten, tool), of=len(ten)) for tool in TOOLS
        ]
    return tuple(totals)


def _counted(model: str, name: str, records: Iterable[TrialRecord], check: str, part: str, whole: str) -> Total:
    counts = [finding.counts for record in records for finding in record.findings if finding.check == check]
    return Total(model=model, name=name, count=sum(one[part] for one in counts), of=sum(one[whole] for one in counts))


def _passed(records: Iterable[TrialRecord], check: str) -> int:
    return sum(finding.passed for record in records for finding in record.findings if finding.check == check)


def _uses(records: Iterable[TrialRecord], tool: str) -> int:
    return sum(any(call.name == tool for call in record.calls) for record in records)
