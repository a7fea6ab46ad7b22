"""errors.md: why a call fails, and what Groundwire itself raises."""

import re
from collections.abc import Iterator

from groundwire.contracts import errors
from groundwire.contracts.errors import ErrorDetail, ErrorType, GroundwireError
from scripts.reference.markdown import code, explain, page, table

# Meaning, retryable, partialSideEffects.
TYPES = {
    "VALIDATION": ("The arguments are not JSON, not an object, or do not fit the tool's schema.", "no", "no"),
    "NOT_FOUND": (
        (
            "There is no such tool for this caller: unknown, masked, hidden, or its code is gone. "
            "From a tool: what it looked for is not there."
        ),
        "no",
        "no",
    ),
    "INTERNAL": (
        "The handler raised something it had not planned, or returned what cannot be used.",
        "no",
        "yes; no for a retrieval or utility whose result cannot be used",
    ),
    "MODE_RESTRICTED": ("The tool is not for this mode (text or voice).", "no", "no"),
    "BUDGET_EXCEEDED": ("A budget is used up, or too many calls in a row were refused.", "no", "no"),
    "CONFIRMATION_REQUIRED": ("A person must agree first, or has decided against it.", "no", "no"),
    "SESSION_INACTIVE": ("The session has ended.", "no", "no"),
    "TRANSIENT": ("From a tool: it failed for now.", "yes", "as the tool says"),
    "PERMANENT": ("A gate is closed. From a tool: it failed and will go on failing.", "no", "as the tool says"),
    "CONFLICT": (
        "The key or call id belongs to another call, or the same call is in flight elsewhere.",
        "only with IN_FLIGHT, LEASE_LOST and VERSION",
        "no",
    ),
    "AUTH": ("From a tool: it is not allowed to do this.", "no", "as the tool says"),
    "RATE_LIMIT": ("From a tool: too many requests.", "yes", "as the tool says"),
    "LOOP_DETECTED": ("The model repeats itself, keeps finding nothing, or a tool calls itself.", "no", "no"),
    "ARGUMENTS_TOO_LARGE": ("The argument text is above the limit.", "no", "no"),
    "TOOL_OUTPUT_TOO_LARGE": ("The handler ran, and its result is above the limit.", "no", "yes for actions"),
    "UNGROUNDED": ("An argument is not evidenced by the conversation.", "no", "no"),
    "OUTCOME_UNKNOWN": (
        "An earlier attempt was cut off; whether it had its effect is not known. This call did nothing.",
        "no",
        "no",
    ),
    "TIMEOUT": (
        "The handler took longer than its hard limit.",
        "yes, unless it may have had an effect",
        "yes for actions, unless cut off before their declared commit",
    ),
    "CANCELLED": ("The call was cancelled.", "as for TIMEOUT", "as for TIMEOUT, if the handler had begun"),
}

# With which types it comes, and what it means. Nothing in the first place: the runtime itself never gives it.
DETAILS = {
    "INVALID_JSON": ("VALIDATION", "The arguments are not JSON."),
    "TOO_DEEP": ("VALIDATION", "The arguments are nested more than 100 levels deep."),
    "NOT_AN_OBJECT": ("VALIDATION", "The arguments are JSON, but not an object."),
    "TYPE_MISMATCH": ("VALIDATION", "An argument has the wrong type."),
    "MISSING_ARGUMENT": ("VALIDATION", "A required argument is missing."),
    "UNKNOWN_ARGUMENT": ("VALIDATION", "The tool has no such argument."),
    "INVALID_VALUE": ("VALIDATION", "An argument has the right type and a wrong value."),
    "INVALID_PATH": ("", "A path leads somewhere it must not."),
    "SUPPLIED_MISSING": ("", "A supplied argument has no value."),
    "SUPPLIED_MISMATCH": ("VALIDATION", "An application sent another value than the turn was opened with."),
    "UNKNOWN_TOOL": ("NOT_FOUND", "No tool of this name for this caller."),
    "NO_HANDLER": ("NOT_FOUND", "The tool was declared without code; somebody else executes it."),
    "NOT_RECORDED": ("NOT_FOUND", "The run that is replayed has no such call, and a replay carries nothing out."),
    "HANDLER_GONE": ("NOT_FOUND", "The session's version of the tool has no code any more."),
    "HANDLER_CHANGED": ("NOT_FOUND", "The code is not what the session's version was built from."),
    "HANDLER_BROKEN": ("NOT_FOUND", "The code cannot be imported."),
    "DUPLICATE_CALL_ID": ("CONFLICT", "The call id was used for another call."),
    "KEY_REUSED": ("CONFLICT", "The key was used with other arguments."),
    "IN_FLIGHT": ("CONFLICT", "The same call is still running elsewhere."),
    "LEASE_LOST": ("CONFLICT", "The reservation ran out before the handler could act."),
    "LOCKED": ("", "What the call would change is locked."),
    "VERSION": ("", "What the call would change was changed meanwhile."),
    "CYCLE": ("LOOP_DETECTED", "A tool called itself, directly or through others."),
    "REPEATED_CALL": ("LOOP_DETECTED", "The same call again and again in one turn."),
    "EMPTY_RESULTS": ("LOOP_DETECTED", "The tool has found nothing too often in this turn."),
    "REFUSALS_IN_A_ROW": ("BUDGET_EXCEEDED", "Too many calls in a row were refused in this turn."),
    "DISABLED": ("PERMANENT", "A gate is closed."),
    "DENIED": ("CONFIRMATION_REQUIRED", "A person decided against it."),
    "EXPIRED": ("CONFIRMATION_REQUIRED", "Nobody agreed in time, or the agreement was not used in time."),
    "WINDOW_CLOSED": ("", "It is too late, or too early, for this."),
    "NOT_JSON": ("INTERNAL", "The result cannot be written as JSON."),
    "RESULT_SCHEMA": ("INTERNAL", "The result breaks the tool's result schema."),
    "SCHEMA_TOO_COMPLEX": ("NOT_FOUND", "A schema of the tool exceeds a [limit](../guides/schemas.md)."),
    "HANDLER_RAISED": ("INTERNAL", "The handler raised an exception that is not a ToolError."),
}

WHAT_TO_DO = {
    "InvalidJson": "Send JSON.",
    "ConfigError": "Correct the setting or the argument that the message names.",
    "TrustError": "Evaluate again, or restore the file and its key; nothing starts with one that cannot be used.",
    "NameTaken": "Choose another name, or go on with what has it.",
    "NotReliable": "Choose a reliable model, or `tool_use_mode: relaxed`.",
    "RegistryError": "Correct the tool; `reason` is a stable code.",
    "SchemaTooComplex": "Simplify the schema: `measure`, `value` and `limit` say where, and [schemas](../guides/schemas.md) how.",
    "ArtifactError": "Run `groundwire build` again.",
    "StoreError": "The hint says what is at fault: content, SQL, a damaged file, a newer version.",
    "WireError": "Correct the body; the path says where.",
    "NotExpressible": "Leave the member out, or choose a model behind another API.",
    "ProviderError": "Look at its `failure`: kind, status, and how long to wait.",
    "StoreUnavailable": "Try again; the hint says what to look at.",
    "RunExists": "Use `run_once` to get the result of the run of that id, or another id.",
    "RunOvertaken": "Load the run: the other caller writes its result. `run_once` waits for that.",
    "NotFound": "List what there is.",
    "AlreadyDecided": "Look at it: it says who decided, and when.",
    "RunInProgress": "Wait until the run has paused or ended, or cancel it first.",
    "ReportBusy": "Wait until it has ended, or end it; what it has done by then is not done again.",
    "ReportDamaged": "Restore the file, or delete the line that the message names: its trial then counts as not run.",
    "AccessError": "The classes below say what is wrong with the key.",
    "KeyMissing": "Send a key, in any of the ways that [keys](../guides/keys.md#sending-a-key) names.",
    "KeyUnknown": "Check the key, and that the server uses the store that it was made in.",
    "KeyExpired": "Make a new key with `groundwire keys create`.",
    "KeyRevoked": "Make a new key with `groundwire keys create`.",
    "NotAllowed": "Use what the key allows, or make one that allows it.",
    "SelfApproval": "Decide with another key, or allow it with `selfApproval` under [approvals](settings.md#approvals).",
    "RateLimited": "Wait for `retry_after` seconds.",
    "BudgetExhausted": "Wait for `retry_after` seconds, or make a key with a larger budget.",
}


def generate() -> str:
    explain(ErrorType, TYPES, "error types")
    explain(ErrorDetail, DETAILS, "error details")
    return page(
        "Errors",
        "What can go wrong, under its stable names. A call that fails gives an [envelope](envelope.md) with a type and "
        "often a detail; it raises nothing. Groundwire itself raises when it cannot go on.",
        "## Types of a failed call",
        "`retryable` means: the same call, unchanged, may succeed later without anyone's doing. `partialSideEffects` "
        "means: something may have happened all the same. A tool may use any type, and then says both itself; the "
        "table shows what the runtime gives.",
        table(
            ("type", "meaning", "retryable", "partialSideEffects"),
            ((code(name), *TYPES[name]) for name in ErrorType),
        ),
        "## Details",
        "A detail narrows the type. Tools may give details of their own. Those without a type here are names for tools "
        "and applications; the runtime itself does not give them.",
        table(
            ("detail", "with", "meaning"),
            (
                (code(name), code(DETAILS[name][0]) if DETAILS[name][0] else "", DETAILS[name][1])
                for name in ErrorDetail
            ),
        ),
        "## Raised errors",
        "Each has a `code`, a `message`, a `hint` for the person who reads it (it may be empty) and says whether it is "
        "`retryable`. On the command line they are one line, `error[code]: message`, and exit code 1. The root is "
        "`GroundwireError`.",
        table(("class", "code", "retryable", "meaning", "what to do"), _raised()),
        "`ToolError` is not among them: a handler raises it to fail its call, and it never leaves the runtime.",
    )


def _raised() -> Iterator[tuple[str, ...]]:
    drawn = dict(re.findall(r"[├└]─ (\w+)\s{2,}(\S.*)", errors.__doc__ or ""))
    found = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, GroundwireError) and value is not GroundwireError
    }
    explain(found, drawn, "raised errors in the drawn tree")
    explain(found, WHAT_TO_DO, "raised errors")
    for name, meaning in drawn.items():
        error = found[name]
        yield code(name), code(error.code), "yes" if error.retryable else "no", meaning, WHAT_TO_DO[name]
