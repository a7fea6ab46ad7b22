"""Records as a run would leave them, in a line each."""

from groundwire.evals.records import Blame, Status, Tokens, Trial, TrialRecord

ENDS = {"+": Status.PASSED, "-": Status.FAILED, "?": Status.INVALID}


def record(end="+", number=1, *, model="m", profile="p", strategy="s", scenario="happy_path", seed=None, **fields):
    trial = Trial(model=model, profile=profile, strategy=strategy, scenario=scenario, number=number)
    return TrialRecord(trial=trial, seed=number if seed is None else seed, status=ENDS[end], **fields)


def records(ends, *, seed=None, **fields):
    """One trial for each of `+`, `-` and `?` (invalid), numbered from 1; `seed` makes all seeds others."""
    return [record(end, number, seed=seed and seed + number, **fields) for number, end in enumerate(ends, 1)]


def failure(code, blame=Blame.MODEL, number=1, **fields):
    end = "-" if blame is Blame.MODEL else "?"
    return record(end, number, code=code, blame=blame, **fields)


def timed(latencies, **fields):
    return [record("+", number, latency_ms=float(ms), **fields) for number, ms in enumerate(latencies, 1)]


def tokens(taken, given):
    return Tokens(input=taken, output=given)
