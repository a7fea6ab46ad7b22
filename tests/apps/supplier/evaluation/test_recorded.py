"""The recording through the production pipeline: every case passes, with the figures that are known of it."""

import asyncio

import pytest

from groundwire.apps.supplier.contracts import Signal
from groundwire.apps.supplier.evaluation.cases import cases_by_id
from groundwire.apps.supplier.pipeline import ASK_FOR_TEXT
from tests.apps.supplier.evaluation.running import counts_of, run_suite, totals_of

FIGURES = {  # bot calls grounded and made, signals grounded and made
    "mes2-01-moq-rejection": (5, 5, 2, 2),
    "mes2-02-voice-message": (1, 1, 1, 1),
    "mes2-03-price-breaks": (4, 5, 1, 1),
    "mes2-04-invented-figures": (2, 4, 1, 2),
    "mes2-05-media": (3, 4, 0, 0),
    "mes2-06-file-request": (5, 5, 2, 2),
    "mes2-07-rejection": (0, 0, 0, 1),
    "mes2-08-timing-tomorrow": (3, 3, 1, 1),
    "mes2-09-media-and-file": (3, 5, 1, 1),
    "mes2-10-authority-boundary": (3, 4, 1, 1),
    "mes2-11-clean-quote": (4, 4, 0, 0),
    "mes2-12-silence": (0, 0, 0, 0),
    "mes2-13-auto-response": (0, 0, 1, 1),
    "mes2-14-wechat_redirect": (0, 0, 1, 1),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    done, _ = asyncio.run(run_suite(tmp_path_factory.mktemp("reports")))
    return done


@pytest.fixture(scope="module")
def outcomes(strict):
    return {record.trial.scenario: record.state for record in strict.finished.records}


@pytest.mark.requirement(
    "A-105", "A-106", "A-107", "A-108", "A-109", "A-110", "A-111", "A-112", "A-113", "A-114", "A-118", "A-119", "A-120",
    "OQ-08", "A-132", "A-142",
)  # fmt: skip
def test_every_case_passes_with_its_own_figures(strict):
    records = strict.finished.records
    assert {record.trial.scenario: (record.status, record.message) for record in records} == dict.fromkeys(
        FIGURES, ("passed", "")
    )
    counted = {
        record.trial.scenario: (counts_of(record, "captures"), counts_of(record, "signals")) for record in records
    }
    assert {
        name: (bot["grounded"], bot["made"], signals["grounded"], signals["made"])
        for name, (bot, signals) in counted.items()
    } == FIGURES


@pytest.mark.requirement("A-115", "X-10", "X-11", "X-12", "A-018", "A-020", "A-022")
def test_over_the_ten_original_cases_32_of_39_calls_and_9_of_11_signals_are_grounded(strict):
    totals = totals_of(strict, "recorded")
    assert totals["bot calls grounded, ten cases"] == (32, 39)
    assert totals["signals grounded, ten cases"] == (9, 11)
    assert totals["statuses as expected"] == (14, 14)
    assert totals["log_data used, ten cases"] == (9, 10)
    assert totals["note_blocker used, ten cases"] == (3, 10)
    assert totals["note_file_request used, ten cases"] == (6, 10)


@pytest.mark.requirement("A-103", "A-178")
def test_strict_drops_exactly_the_rows_that_nobody_said(outcomes):
    for name, outcome in outcomes.items():
        kept = [entry["args"]["supplierQuote"] for entry in outcome["botToolTrace"]]
        assert kept == [row.args["supplierQuote"] for row in cases_by_id()[name].captures if row.grounded]
        dropped = len(outcome["botCalls"]) - len(kept)
        assert dropped == sum(not row.grounded for row in cases_by_id()[name].captures)


@pytest.mark.requirement("A-104")
async def test_report_keeps_every_row_and_says_which_nobody_said_and_why(tmp_path):
    done, _ = await run_suite(tmp_path, options={"grounding": "report"})
    assert {record.status for record in done.finished.records} == {"passed"}
    outcomes = {record.trial.scenario: record.state for record in done.finished.records}
    media = outcomes["mes2-05-media"]["botToolTrace"][0]["grounding"]
    assert (media["grounded"], media["nearMiss"]) == (False, "merged_messages")
    refusal = outcomes["mes2-07-rejection"]["signals"][0]
    assert (refusal["source"], refusal["grounding"]["grounded"]) == ("summary-agent-llm", False)
    assert totals_of(done, "recorded")["bot calls grounded, ten cases"] == (32, 39)


@pytest.mark.requirement("A-159", "OQ-05")
def test_a_voice_message_is_answered_by_asking_for_text_and_becomes_a_review(outcomes):
    outcome = outcomes["mes2-02-voice-message"]
    assert outcome["history"][2]["content"] == ASK_FOR_TEXT
    (signal,) = outcome["signals"]
    assert (signal["signalType"], signal["severity"]) == ("manual_review", "medium")
    assert signal["supplierQuote"] == "[语音消息]"


def test_where_strict_leaves_no_signal_of_a_refusal_the_status_itself_raises_one(outcomes):
    (signal,) = outcomes["mes2-07-rejection"]["signals"]
    assert (signal["source"], signal["signalType"], signal["severity"]) == ("status-rule", "human_escalation", "high")
    assert signal["supplierQuote"] in "不好意思，这款停产了"


def test_a_promise_for_tomorrow_is_due_at_the_same_time_tomorrow(outcomes):
    (signal,) = outcomes["mes2-08-timing-tomorrow"]["signals"]
    assert signal["followUpTiming"]["dueAt"] == "2026-03-12T10:00:00+08:00"


def test_a_time_of_shipping_is_no_follow_up(outcomes):
    assert outcomes["mes2-11-clean-quote"]["signals"] == []


def test_a_supplier_who_never_answers_is_asked_twice_more_and_then_left(outcomes):
    outcome = outcomes["mes2-12-silence"]
    assert [entry["role"] for entry in outcome["history"]] == ["bot", "bot", "bot"]
    (signal,) = outcome["signals"]
    assert "supplierQuote" not in signal
    assert (signal["evidence"], signal["severity"]) == ({"kind": "silence"}, "medium")


def test_canned_text_yields_no_fact_but_tells_when_somebody_is_back(outcomes):
    outcome = outcomes["mes2-13-auto-response"]
    assert outcome["botCalls"] == []
    (signal,) = outcome["signals"]
    assert (signal["followUpTiming"]["delayHours"], signal["severity"]) == (12.5, "low")


@pytest.mark.requirement("OQ-04", "A-157", "A-158")
def test_the_first_push_to_another_chat_is_declined_and_the_second_ends_it(outcomes):
    outcome = outcomes["mes2-14-wechat_redirect"]
    assert "平台" in outcome["history"][4]["content"]
    (signal,) = outcome["signals"]
    assert (signal["signalType"], signal["severity"]) == ("wechat_redirect", "low")


def test_signals_of_a_case_have_ids_of_their_own(outcomes):
    ids = [signal["signalId"] for outcome in outcomes.values() for signal in outcome["signals"]]
    assert len(ids) == len(set(ids)) == 14
    assert set(Signal.__struct_encode_fields__) >= {
        key for one in outcomes.values() for s in one["signals"] for key in s
    }
