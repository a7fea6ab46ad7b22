"""What no model at all achieves on the cases."""

from groundwire.apps.supplier.evaluation.cases import read_cases
from tests.apps.supplier.evaluation.running import run_suite, totals_of


async def test_the_rules_end_every_case_rightly_find_every_fact_and_quote_nothing_that_was_not_said(tmp_path):
    done, _ = await run_suite(tmp_path, models="rules")
    totals = totals_of(done, "rules")
    rows = sum(row.grounded for case in read_cases() for row in case.captures)
    assert totals["statuses as expected"] == (14, 14)
    assert totals["facts of the recording found"] == (rows, rows) == (33, 33)
    for name in ("bot calls grounded, ten cases", "signals grounded, ten cases"):
        grounded, made = totals[name]
        assert grounded == made > 0
    assert {record.status for record in done.finished.records} == {"passed"}


async def test_the_rules_are_no_recording(tmp_path):
    done, _ = await run_suite(tmp_path, models="rules", scenarios="mes2-10")
    (record,) = done.finished.records
    quotes = [entry["args"]["supplierQuote"] for entry in record.state["botToolTrace"]]
    assert "200块起" in quotes  # which the recording has only in words that nobody said
