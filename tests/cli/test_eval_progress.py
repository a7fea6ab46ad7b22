"""The bar and the lines of a run's progress."""

import io

import pytest
from msgspec.structs import replace

from groundwire.cli.eval_progress import Meter, bar_line, trial_line
from groundwire.evals.records import Blame, CallTrace, Status, Tokens, Trial, TrialRecord
from groundwire.evals.running import Progress

TRIAL = Trial(model="m", profile="p", strategy="s", scenario="sc", number=2)
RECORD = TrialRecord(
    trial=TRIAL,
    seed=1,
    status=Status.FAILED,
    blame=Blame.MODEL,
    code="wrong_text",
    text="a\nb",
    steps=2,
    latency_ms=12.4,
    tokens=Tokens(input=10, output=3),
    calls=(CallTrace(name="t", arguments={"a": 1}, ok=True, data=None), CallTrace(name="u", arguments="{", ok=False)),
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress(**known):
    values = {"done": 1, "total": 4, "passed": 1, "failed": 0, "invalid": 0, "cost": 0.0, "reused": 0, "record": RECORD}
    return Progress(**(values | known))


@pytest.mark.parametrize(
    ("known", "seconds", "fresh", "line"),
    [
        ({}, 10.0, 1, "[######------------------] 1/4  100 % pass  m 67 %  30 s left"),
        ({"done": 2, "failed": 1}, 100.0, 1, "[############------------] 2/4  50 % pass  m 67 %  3 min 20 s left"),
        (
            {"passed": 0, "invalid": 1},
            3600.0,
            1,
            "[######------------------] 1/4  nothing scored  m 67 %  1 invalid  3 h 0 min left",
        ),
        ({"done": 4, "cost": 0.1234}, 1.0, 4, "[########################] 4/4  100 % pass  m 67 %  $0.1234"),
        ({"done": 2, "reused": 1}, 10.0, 1, "[############------------] 2/4  100 % pass  m 67 %  20 s left"),
    ],
)
def test_the_bar_tells_how_far_it_is_and_how_long_it_takes(known, seconds, fresh, line):
    assert bar_line(progress(**known), seconds, fresh, [True, True, False]) == line


def test_a_line_tells_of_a_trial_turn_by_turn():
    assert trial_line(RECORD, 1, 4, with_sizes=False) == (
        "✗ 1/4 m p s sc 2: t ok → u failed → a b  2 steps 12 ms  model: wrong_text"
    )
    assert trial_line(RECORD, 1, 4, with_sizes=True) == (
        "✗ 1/4 m p s sc 2: t ok (7 B in, 4 B out) → u failed (1 B in, 4 B out) → a b  2 steps 12 ms"
        "  10 tokens in, 3 out  model: wrong_text"
    )


def test_where_nobody_watches_there_are_lines_and_no_bar():
    stream = io.StringIO()
    Meter(stream=stream)(progress())
    assert stream.getvalue() == "✗ 1/4 m p s sc 2: t ok → u failed → a b  2 steps 12 ms  model: wrong_text\n"


def test_a_terminal_keeps_the_bar_below_the_lines_and_is_left_clean():
    stream = Terminal()
    times = iter([0.0, 10.0])
    meter = Meter(stream=stream, clock=lambda: next(times))
    meter(progress())
    assert stream.getvalue().endswith(
        "wrong_text\n\r\x1b[K[######------------------] 1/4  100 % pass  m 0 %  30 s left"
    )
    meter.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_name_of_a_model_cannot_steer_the_terminal_from_within_the_bar():
    stream = Terminal()
    record = replace(RECORD, trial=replace(RECORD.trial, model="\x1b[2Jm"))
    Meter(stream=stream)(progress(record=record))
    assert "\x1b[2J" not in stream.getvalue()
    assert "\\x1b[2Jm 0 %" in stream.getvalue()


@pytest.mark.parametrize("options", [{"verbose": 0}, {"quiet": True}])
def test_silence_is_silence(options):
    stream = io.StringIO()
    meter = Meter(stream=stream, **options)
    meter(progress())
    meter.close()
    assert stream.getvalue() == ""


def test_a_terminal_that_cannot_spell_a_sign_is_told_all_the_same():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Meter(stream=stream)(progress())
    assert raw.getvalue().startswith(b"\\u2717 1/4 m p s sc 2")
