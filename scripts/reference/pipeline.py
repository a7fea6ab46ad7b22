"""pipeline.md: the steps of a call."""

from groundwire.runtime.dispatcher import PIPELINE
from scripts.reference.markdown import code, explain, page, table

# Where it is decided, what it does, and how it can end the call.
WHAT = {
    "replay": ("dispatcher.py", "A call id that was closed before gives its result again.", "CONFLICT"),
    "resolve": ("checks.py", "Find the tool in the session's registry version.", "NOT_FOUND, LOOP_DETECTED"),
    "mask": ("checks.py", "Is it allowed here, meant for this caller, and is the model trusted with it?", "NOT_FOUND"),
    "mode": ("checks.py", "Is it for this mode?", "MODE_RESTRICTED"),
    "session": (
        "checks.py",
        "Is the session open, and the model not being refused all the time?",
        "SESSION_INACTIVE, BUDGET_EXCEEDED",
    ),
    "size": ("checks.py", "Is the argument text small enough?", "ARGUMENTS_TOO_LARGE"),
    "parse": ("checks.py", "Read the JSON.", "VALIDATION"),
    "supply": ("checks.py", "Take the digest, name the effect, fill in what the executor supplies.", "VALIDATION"),
    "validate": ("checks.py", "Check the arguments against the schema.", "VALIDATION"),
    "loop": ("checks.py", "Is the model running in circles?", "LOOP_DETECTED"),
    "look_up": (
        "gatekeeper.py",
        "Is the key known? A settled one answers now, without budget or confirmation.",
        "CONFLICT, OUTCOME_UNKNOWN",
    ),
    "budget": (
        "gatekeeper.py",
        "Is there budget left? The turn's is taken here, and given back if a later step refuses.",
        "BUDGET_EXCEEDED",
    ),
    "gates": ("gatekeeper.py", "Are the feature flags on? A closed gate may answer instead.", "PERMANENT"),
    "ground": ("gatekeeper.py", "Were the words really said?", "UNGROUNDED"),
    "confirm": ("gatekeeper.py", "Has a person agreed?", "CONFIRMATION_REQUIRED"),
    "reserve": (
        "gatekeeper.py, ledger.py",
        "Take key, approval and stored budgets together, or none of them.",
        "CONFLICT, OUTCOME_UNKNOWN, BUDGET_EXCEEDED, CONFIRMATION_REQUIRED",
    ),
    "invoke": (
        "invocation.py",
        "Run the handler under its time limit, if the lease is still held.",
        "CONFLICT, TIMEOUT, CANCELLED, INTERNAL",
    ),
    "output": (
        "output.py",
        "Make the result JSON of a bearable size that fits its schema.",
        "INTERNAL, TOOL_OUTPUT_TOO_LARGE",
    ),
    "settle": ("recorder.py", "Write the effect, the call, its audit record and its counts in one transaction.", ""),
    "intents": ("dispatcher.py", "Collect the call's wishes; they are applied after the batch.", ""),
    "done": ("dispatcher.py", "Give the result back.", ""),
}


def generate() -> str:
    explain(PIPELINE, WHAT, "steps of the pipeline")
    return page(
        "The pipeline",
        "The steps that every call takes, in this order. A step that ends a call ends it with a result: the steps after "
        "it are skipped, and the call is recorded with the name of the step. The files are in `src/groundwire/runtime/`.",
        table(
            ("", "step", "file", "what it does", "can end the call with"),
            (
                (str(number), code(step), WHAT[step][0], WHAT[step][1], WHAT[step][2])
                for number, step in enumerate(PIPELINE, 1)
            ),
        ),
        "`replay` is only for calls that bring their own call id. The steps from `look_up` to `reserve` are skipped where "
        "they cannot matter: for a retrieval without key, budget, gate, evidence or confirmation all of them, for an "
        "action without any of these all but `reserve`, which finds a known key too.",
        "A result that is given again counts for the loop rule and for nothing else. A refusal counts for nothing but the "
        "number of refusals in a row.",
        "A hook (`on_step`) is told before each step; all from `resolve` to `loop` are one step for it, `check`, because nothing can "
        "happen between them.",
    )
