"""Records of made-up evaluations, for the tests of reports."""

from groundwire.evals.records import Blame, CallTrace, EvalRun, Finding, Status, Tokens, Trial, TrialRecord

HOSTILE = (
    """</script><script>document.body.id="injected"</script><img src=x onerror='document.body.id="injected"'>"""
    "\"'`|<!--]]>&amp;\x00\x1b[31m\u2028"
)


def make_run(**changes):
    given = {
        "run_id": "eval_1",
        "suite": "smoke",
        "models": ("sim/good", "sim/poor"),
        "profiles": ("default",),
        "strategies": ("plain",),
        "scenarios": ("happy_path", "chat_only"),
        "trials": 2,
        "seed": 7,
        "version": "1.2.3",
        "created_at": "2026-11-16T10:30:00Z",
    }
    return EvalRun(**given | changes)


def make_record(model="sim/good", scenario="happy_path", number=1, **changes):
    profile, strategy = changes.pop("profile", "default"), changes.pop("strategy", "plain")
    given = {
        "seed": 1000 + number,
        "status": Status.PASSED,
        "outcome": "completed",
        "text": "Done.",
        "steps": 2,
        "latency_ms": 100.0 * number,
        "tokens": Tokens(input=50, output=5),
        "conversation": (
            {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "Set the title."}]},
            {"kind": "call", "call": {"call_id": "c1", "name": "state_patch", "arguments": {"title": "Plan"}}},
            {
                "kind": "result",
                "call_id": "c1",
                "name": "state_patch",
                "parts": [{"kind": "text", "text": '{"ok":true}'}],
            },
            {"kind": "message", "role": "assistant", "parts": [{"kind": "text", "text": "Done."}]},
        ),
        "calls": (CallTrace(name="state_patch", arguments={"title": "Plan"}, ok=True, data={"title": "Plan"}),),
        "state": {"title": "Plan"},
        "findings": (Finding(check="final_text", passed=True),),
        "run_ids": (f"run_{number}",),
    }
    trial = Trial(model=model, profile=profile, strategy=strategy, scenario=scenario, number=number)
    return TrialRecord(trial=trial, **given | changes)


def make_failure(
    model="sim/poor", scenario="happy_path", number=1, *, code="wrong_text", message="It said Ok.", **rest
):
    findings = (Finding(check="final_text", passed=False, code=code, message=message, detail={"got": "Ok."}),)
    given = {"status": Status.FAILED, "blame": Blame.MODEL, "code": code, "message": message, "findings": findings}
    return make_record(model, scenario, number, **given | rest)


def make_invalid(model="sim/poor", scenario="chat_only", number=1, **changes):
    given = {"status": Status.INVALID, "blame": Blame.PROVIDER, "code": "rate_limit", "message": "429 three times"}
    return make_record(model, scenario, number, **given | changes)


def make_records():
    """Two models at two scenarios, two trials each: one good, one with two failures and a trial that says nothing."""
    return [
        *(make_record("sim/good", scenario, number) for scenario in ("happy_path", "chat_only") for number in (1, 2)),
        make_failure("sim/poor", "happy_path", 1),
        make_failure("sim/poor", "happy_path", 2, code="no_call", message="No tool was called."),
        make_invalid("sim/poor", "chat_only", 1),
        make_record("sim/poor", "chat_only", 2),
    ]
