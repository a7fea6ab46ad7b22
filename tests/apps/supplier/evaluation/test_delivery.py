"""Signals of an evaluation handed over: to a log beside the report, or to a brain."""

import pytest

from groundwire import ConfigError
from groundwire.apps.supplier.evaluation import make_suite
from groundwire.apps.supplier.evaluation.delivery import SECRET_VARIABLE, SIGNAL_LOG
from groundwire.apps.supplier.signals.receivers import read_signal_log
from tests.apps.supplier.brain.conftest import running_brain
from tests.apps.supplier.evaluation.running import run_suite, totals_of
from tests.apps.supplier.signals.samples import KEY


@pytest.mark.requirement("A-179", "A-182", "A-050")
async def test_delivered_signals_are_in_a_log_in_the_reports_folder(tmp_path):
    done, folder = await run_suite(tmp_path, options={"send_to_brain": "file"})
    logged = [line.signal for line in read_signal_log(folder / SIGNAL_LOG)]
    raised = [signal["signalId"] for record in done.finished.records for signal in record.state["signals"]]
    assert [signal.signal_id for signal in logged] == raised
    assert totals_of(done, "recorded")["signals delivered"] == (14, 14)


async def test_without_being_asked_for_nothing_is_delivered(tmp_path):
    done, folder = await run_suite(tmp_path, scenarios="mes2-01")
    assert not (folder / SIGNAL_LOG).exists()
    assert "signals delivered" not in totals_of(done, "recorded")


async def test_what_strict_has_dropped_is_not_delivered(tmp_path):
    _, folder = await run_suite(tmp_path, scenarios="mes2-04", options={"send_to_brain": "file"})
    (line,) = read_signal_log(folder / SIGNAL_LOG)
    assert line.signal.signal_type == "asset_request"


@pytest.mark.requirement("A-059")
async def test_signals_reach_a_brain_that_verifies_them(tmp_path, monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, KEY)
    async with running_brain("memory://") as brain:
        target = f"{str(brain.base_url).rstrip('/')}/signals"
        done, _ = await run_suite(tmp_path, scenarios="mes2-01,mes2-07", options={"send_to_brain": target})
        assert totals_of(done, "recorded")["signals delivered"] == (3, 3)
        kept = (await brain.get("/api/signals")).json()
    raised = {signal["signalId"] for record in done.finished.records for signal in record.state["signals"]}
    assert {one["signal"]["signalId"] for one in kept["items"]} == raised


async def test_a_brain_that_refuses_is_counted_as_not_delivered(tmp_path, monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, KEY)
    options = {"send_to_brain": "http://127.0.0.1:9/signals"}
    done, _ = await run_suite(tmp_path, scenarios="mes2-01", options=options)
    assert totals_of(done, "recorded")["signals delivered"] == (0, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"send_to_brain": "somewhere"}, "Webhooks cannot be sent to 'somewhere'."),
        (
            {"send_to_brain": "https://brain.example/signals"},
            "A brain wants signed signals, and GROUNDWIRE_BRAIN_SECRET is not set.",
        ),
    ],
)
def test_a_brain_that_cannot_be_told_is_an_error_before_the_first_trial(monkeypatch, options, message):
    monkeypatch.delenv(SECRET_VARIABLE, raising=False)
    with pytest.raises(ConfigError) as caught:
        make_suite(options)
    assert caught.value.message == message


@pytest.mark.parametrize("options", [{"grounding": "loose"}, {"colour": "red"}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ConfigError):
        make_suite(options)


def test_a_key_that_is_none_is_found_before_any_trial(monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, "whsec_short")
    with pytest.raises(ConfigError):
        make_suite({"send_to_brain": "https://brain.example/signals"})
