"""The first half of the pipeline: is this a call that may be made at all?

Synchronous and without a store. The checks fill in the attempt as they go.
"""

from hashlib import sha256

from groundwire.contracts.canonical import JsonObject, canonical_form, parse_json
from groundwire.contracts.decisions import Allow, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType, InvalidJson, RegistryError, SchemaTooComplex
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.idempotency import caller_key, compared_arguments, effect_key, joined, nested_key
from groundwire.runtime.policies.access import no_such_tool, within_mode
from groundwire.runtime.policies.loops import enough_refusals, is_not_fruitless, is_not_repeating
from groundwire.runtime.policies.sizes import within_argument_size
from groundwire.runtime.policies.trust import is_kept_from
from groundwire.runtime.surface import Entry
from groundwire.runtime.validation import explain_faults, fits, fold_integers

CHECKS = ("resolve", "mask", "mode", "session", "size", "parse", "supply", "validate", "loop")
"""In the order in which they are made. A denial leaves the name of its check in the attempt."""


def examine(attempt: Attempt) -> Entry | Deny:
    """The tool of a call that may be made, or why it may not be.

    Every call takes all of the checks, so they are no functions of their own; what only a denial needs is outside.
    """
    turn, caller = attempt.turn, attempt.caller
    is_model = caller == "model"
    attempt.step = "resolve"
    entry = attempt.entry = turn.find(attempt.name)
    if entry is None:
        attempt.operator = "no such tool in this registry version"
        return no_such_tool(attempt.name)
    tool_id = attempt.tool_id = entry.tool_id
    if attempt.parent is not None and attempt.parent.is_inside(tool_id):
        return _cycle(entry)
    if caller not in entry.callers or (is_model and tool_id in turn.masked):
        return _hide(attempt, entry)
    if not entry.in_mode:
        return _stop(attempt, "mode", within_mode(entry.spec, turn.mode))
    if turn.session is not None and turn.session.status != "active":
        return _stop(attempt, "session", _SESSION_ENDED)
    if is_model and turn.refusals >= turn.surface.max_refusals:
        return _stop(attempt, "session", enough_refusals(turn.refusals, turn.surface.max_refusals))
    try:
        validator, _ = entry.tool.validator, entry.tool.result_validator
    except RegistryError as error:  # out of an artifact, which is read without compiling its schemas
        return _unusable(attempt, error)
    if (denied := read_arguments(attempt, entry)) is not None:
        return denied
    if not fits(validator, attempt.arguments, odd_numbers=attempt.has_whole_floats):
        return _stop(attempt, "validate", explain_faults(entry.spec, validator, attempt.arguments))
    if attempt.has_whole_floats:  # 2.0 is a whole number, and a handler wants 2
        attempt.arguments = fold_integers(entry.spec.parameters, attempt.arguments)
    if is_model:  # only models run in circles; an application that calls twice means it
        identity = (tool_id, attempt.digest)
        earlier = turn.repeats.get(identity, 0)
        if (earlier or turn.empty_results or entry.limits.repeat_limit == 1) and (denied := _loop(attempt, entry)):
            return denied
        turn.repeats[identity] = earlier + 1
        attempt.counted = True
    return entry


def read_arguments(attempt: Attempt, entry: Entry) -> Deny | None:
    """Size, parse and supply: read the text, take the digest, name the effect, fill in what the executor supplies."""
    raw = attempt.raw
    # No character takes more than four bytes.
    if len(raw) * 4 > entry.limits.max_args_bytes and (denied := _size(attempt, entry.limits.max_args_bytes)):
        return denied
    try:
        arguments = parse_json(raw)
    except InvalidJson as error:
        return _stop(attempt, "parse", _not_json(attempt.name, error))
    if not isinstance(arguments, dict):
        return _stop(attempt, "parse", _not_an_object(attempt.name, arguments))
    attempt.arguments = attempt.compared = arguments
    if entry.supplied:
        attempt.compared = compared_arguments(entry.supplied, arguments, _named(attempt))
    canonical, attempt.has_whole_floats = canonical_form(attempt.compared)
    attempt.digest = sha256(canonical).hexdigest()
    if entry.is_keyed or attempt.given_key is not None or entry.must_confirm(attempt.caller):
        attempt.key = _key_of(attempt, entry)
    for name in entry.supplied:
        if (mismatch := _supply_one(attempt, name)) is not None:
            return _stop(attempt, "supply", mismatch)
    return None


_SESSION_ENDED = Deny(
    type=ErrorType.SESSION_INACTIVE, message="This conversation has ended; no tool can be used in it."
)


def _stop(attempt: Attempt, step: str, decision: Allow | Deny) -> Deny:
    assert isinstance(decision, Deny)  # noqa: S101 - for the type checker; nobody stops a call that is allowed
    attempt.step = step
    return decision


def _unusable(attempt: Attempt, error: RegistryError) -> Deny:
    attempt.operator = error.message
    return Deny(
        type=ErrorType.NOT_FOUND,
        detail=error.detail if isinstance(error, SchemaTooComplex) else error.reason.upper(),
        message=f"{attempt.name} cannot be used: its schema is not valid.",
    )


def _cycle(entry: Entry) -> Deny:
    return Deny(
        type=ErrorType.LOOP_DETECTED,
        detail=ErrorDetail.CYCLE,
        message=f"{entry.spec.wire_name} is already running further up; a tool may not call itself.",
    )


def _hide(attempt: Attempt, entry: Entry) -> Deny:
    looped = attempt.caller == "model" and attempt.tool_id in attempt.turn.masked
    attempt.operator = f"{entry.tool_id} is {_why_masked(entry, looped=looped)}"
    attempt.resolve(None)  # from here on nothing may show that there is such a tool
    return _stop(attempt, "mask", no_such_tool(attempt.name))


def _size(attempt: Attempt, limit: int) -> Deny | None:
    decision = within_argument_size(attempt.name, len(attempt.raw.encode("utf-8", "surrogatepass")), limit)
    return _stop(attempt, "size", decision) if isinstance(decision, Deny) else None


def _not_json(name: str, error: InvalidJson) -> Deny:
    return Deny(
        type=ErrorType.VALIDATION,
        detail=ErrorDetail.TOO_DEEP if error.too_deep else ErrorDetail.INVALID_JSON,
        message=f"The arguments of {name} are not valid JSON: {error.message}. Send one JSON object.",
    )


def _not_an_object(name: str, value: object) -> Deny:
    return Deny(
        type=ErrorType.VALIDATION,
        detail=ErrorDetail.NOT_AN_OBJECT,
        message=f"The arguments of {name} must be one JSON object, such as {{}}, not {_kind(value)}.",
    )


def _loop(attempt: Attempt, entry: Entry) -> Deny | None:
    turn, tool_id, name = attempt.turn, attempt.tool_id, entry.spec.wire_name
    decision = is_not_repeating(name, turn.calls_of(tool_id, attempt.digest), entry.limits.repeat_limit)
    if isinstance(decision, Deny):
        turn.note_loop(tool_id)
        return _stop(attempt, "loop", decision)
    decision = is_not_fruitless(name, turn.empty_results.get(tool_id, 0), entry.limits.empty_limit)
    return _stop(attempt, "loop", decision) if isinstance(decision, Deny) else None


def _why_masked(entry: Entry, *, looped: bool) -> str:
    if not entry.allowed:
        return "masked"
    if looped:
        return "masked after a loop"
    if entry.trusted is not None and is_kept_from(entry.trusted, entry.spec):
        return f"kept from this model: {entry.trusted.why}"
    return "not offered to models"


def _key_of(attempt: Attempt, entry: Entry) -> str:
    """The name of the effect: by the caller, by the tool that it serves, or by the tool's own scope."""
    turn, parent = attempt.turn, attempt.parent
    if attempt.given_key is not None:
        return caller_key(attempt.given_key)
    if parent is not None and parent.key and entry.spec.policy.scope in ("run", "call"):
        return nested_key(parent.tool_id, parent.key, entry.tool_id, attempt.digest)
    if not entry.is_action and not entry.limits.confirm:  # asked for want of trust: two looks are two questions
        return joined("call", turn.conversation_id, attempt.call_id)
    if turn.run_id or parent is not None:
        is_named = isinstance(entry.spec.policy.scope, str)
        return effect_key(
            entry.spec,
            attempt.arguments if is_named else _scoped(attempt, entry),
            attempt.digest,
            run_id=turn.run_id,
            session_id=turn.conversation_id,
            call_id=attempt.call_id,
        )
    attempt.is_fresh = not attempt.given_id  # a call outside a run, without a key, is meant to happen each time
    return joined("once", turn.session_id, attempt.call_id)


def _named(attempt: Attempt) -> JsonObject:
    """What the request was opened with; a caller that is no model may also name objects in the arguments."""
    turn = attempt.turn
    return turn.supplied if attempt.caller == "model" else {**attempt.arguments, **turn.supplied}


def _scoped(attempt: Attempt, entry: Entry) -> JsonObject:
    """The arguments that a scope names: with the values that the executor will supply, not a model's own."""
    values = dict(attempt.arguments)
    for name in entry.supplied:
        if attempt.caller == "model" or name not in values:
            values[name] = attempt.supplied(name)
    return values


def _supply_one(attempt: Attempt, name: str) -> Deny | None:
    turn = attempt.turn
    given = name in attempt.arguments
    value = attempt.supplied(name)
    if attempt.caller == "model":
        if given and attempt.arguments[name] != value:
            attempt.warn(f"{name} is filled in by the system; the value that was sent is ignored.")
        if value is None:
            attempt.arguments.pop(name, None)
            return None
    elif given and name in turn.supplied and attempt.arguments[name] != value:
        return Deny(
            type=ErrorType.VALIDATION,
            detail=ErrorDetail.SUPPLIED_MISMATCH,
            message=f"{name}: leave it out, or send the value that this request was opened with.",
        )
    elif given or value is None:
        return None
    attempt.arguments[name] = value
    return None


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
