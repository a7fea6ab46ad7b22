"""JUnit XML, for the machines that show test results: one suite per combination, one case per scenario and trial."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from groundwire.evals.records import Combination, EvalRun, Status, TrialRecord

MESSAGE_CHARS = 2_000

# What XML 1.0 cannot say, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(run: EvalRun, records: Iterable[TrialRecord]) -> bytes:
    """A failed trial is a failure; one that says nothing about its model is skipped, with the reason."""
    combinations: dict[Combination, list[TrialRecord]] = {}
    for record in records:
        combinations.setdefault(record.trial.combination, []).append(record)
    root = Element("testsuites", _attributes(run.suite, [one for group in combinations.values() for one in group]))
    for combination, group in combinations.items():
        name = " · ".join(combination)
        suite = SubElement(root, "testsuite", _attributes(name, group))
        if group[0].started_at:
            suite.set("timestamp", _clean(min(one.started_at for one in group)))
        for record in group:
            _add_case(suite, name, record)
    return tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _attributes(name: str, records: list[TrialRecord]) -> dict[str, str]:
    return {
        "name": _clean(name),
        "tests": str(len(records)),
        "failures": str(sum(record.status is Status.FAILED for record in records)),
        "errors": "0",
        "skipped": str(sum(record.status is Status.INVALID for record in records)),
        "time": _seconds(sum(record.latency_ms for record in records)),
    }


def _add_case(suite: Element, name: str, record: TrialRecord) -> None:
    case = SubElement(
        suite,
        "testcase",
        {
            "classname": _clean(name),
            "name": _clean(f"{record.trial.scenario} · {record.trial.number}"),
            "time": _seconds(record.latency_ms),
        },
    )
    if record.passed:
        return
    said = record.message or record.code or "it did not pass"
    if record.status is Status.INVALID:
        blamed = f"{record.blame}: " if record.blame else ""
        SubElement(case, "skipped", {"message": _shorten(f"invalid, {blamed}{said}")})
        return
    failure = SubElement(case, "failure", {"message": _shorten(said), "type": _clean(record.code or "failed")})
    failed = (finding for finding in record.findings if not finding.passed)
    failure.text = _shorten("\n".join(": ".join(filter(None, (one.check, one.code, one.message))) for one in failed))


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1_000:.3f}"


def _shorten(text: str) -> str:
    return _clean(text if len(text) <= MESSAGE_CHARS else f"{text[: MESSAGE_CHARS - 1]}…")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
