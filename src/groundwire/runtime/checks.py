"""The first half of the pipeline: is this a call that may be made at all? Each check says why not, or nothing.

Synchronous and without a store. They fill in the attempt as they go.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

from groundwire.contracts.canonical import JsonObject, canonical_form, parse_json
from groundwire.contracts.decisions import Allow, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType, InvalidJson
from groundwire.runtime.attempt import Attempt
from groundwire.runtime.idempotency import caller_key, compared_arguments, effect_key, joined, nested_key
from groundwire.runtime.policies.access import no_such_tool, within_mode
from groundwire.runtime.policies.loops import enough_refusals, is_not_fruitless, is_not_repeating
from groundwire.runtime.policies.sizes import within_argument_size
from groundwire.runtime.policies.trust import is_kept_from
from groundwire.runtime.surface import Entry
from groundwire.runtime.validation import explain_faults, fold_integers

Check: TypeAlias = Callable[[Attempt, Entry], Deny | None]


def resolve(attempt: Attempt) -> Entry | Deny:
    """Comes before all others: they are about the tool that it finds."""
    entry = attempt.entry = attempt.turn.find(attempt.name)
    if entry is None:
        attempt.operator = "no such tool in this registry version"
        return no_such_tool(attempt.name)
    attempt.tool_id = entry.spec.tool_id
    if attempt.parent is not None and attempt.parent.is_inside(entry.spec.tool_id):
        return Deny(
            type=ErrorType.LOOP_DETECTED,
            detail=ErrorDetail.CYCLE,
            message=f"{entry.spec.wire_name} is already running further up; a tool may not call itself.",
        )
    return entry


def mask(attempt: Attempt, entry: Entry) -> Deny | None:
    looped = attempt.caller == "model" and attempt.tool_id in attempt.turn.masked
    if attempt.caller in entry.callers and not looped:
        return None
    attempt.operator = f"{entry.spec.tool_id} is {_why_masked(entry, looped=looped)}"
    attempt.resolve(None)  # from here on nothing may show that there is such a tool
    return no_such_tool(attempt.name)


def mode(attempt: Attempt, entry: Entry) -> Deny | None:
    if entry.in_mode:
        return None
    return _refusal(within_mode(entry.spec, attempt.turn.mode))


def session(attempt: Attempt, _entry: Entry) -> Deny | None:
    turn = attempt.turn
    if turn.session is not None and turn.session.status != "active":
        return Deny(type=ErrorType.SESSION_INACTIVE, message="This conversation has ended; no tool can be used in it.")
    if attempt.caller == "model" and turn.refusals >= turn.surface.max_refusals:
        return _refusal(enough_refusals(turn.refusals, turn.surface.max_refusals))
    return None


def size(attempt: Attempt, entry: Entry) -> Deny | None:
    limit = entry.limits.max_args_bytes
    raw = attempt.raw
    if len(raw) * 4 <= limit:  # no character takes more than four bytes
        return None
    return _refusal(within_argument_size(attempt.name, len(raw.encode("utf-8", "surrogatepass")), limit))


def parse(attempt: Attempt, _entry: Entry) -> Deny | None:
    try:
        value = parse_json(attempt.raw)
    except InvalidJson as error:
        return Deny(
            type=ErrorType.VALIDATION,
            detail=ErrorDetail.TOO_DEEP if error.too_deep else ErrorDetail.INVALID_JSON,
            message=f"The arguments of {attempt.name} are not valid JSON: {error.message}. Send one JSON object.",
        )
    if not isinstance(value, dict):
        return Deny(
            type=ErrorType.VALIDATION,
            detail=ErrorDetail.NOT_AN_OBJECT,
            message=f"The arguments of {attempt.name} must be one JSON object, such as {{}}, not {_kind(value)}.",
        )
    attempt.arguments = value
    return None


def supply(attempt: Attempt, entry: Entry) -> Deny | None:
    """Fill in what the executor supplies. A model's value is overwritten and noted, a caller's must agree."""
    supplied = entry.spec.policy.supplied
    attempt.compared = (
        compared_arguments(supplied, attempt.arguments, _named(attempt)) if supplied else attempt.arguments
    )
    canonical, attempt.has_whole_floats = canonical_form(attempt.compared)
    attempt.digest = sha256(canonical).hexdigest()
    if entry.is_keyed or attempt.given_key is not None or entry.must_confirm(attempt.caller):
        _assign_key(attempt, entry)
    for name in supplied:
        refusal = _supply_one(attempt, name)
        if refusal is not None:
            return refusal
    return None


def validate(attempt: Attempt, entry: Entry) -> Deny | None:
    if entry.tool.validator.is_valid(attempt.arguments):
        if attempt.has_whole_floats:  # 2.0 is a whole number, and a handler wants 2
            attempt.arguments = fold_integers(entry.spec.parameters, attempt.arguments)
        return None
    return explain_faults(entry.spec, entry.tool.validator, attempt.arguments)


def loop(attempt: Attempt, entry: Entry) -> Deny | None:
    """Only models run in circles; an application that calls twice means it. The last check: a call that passes counts."""
    if attempt.caller != "model":
        return None
    turn, tool_id, name, limit = attempt.turn, attempt.tool_id, entry.spec.wire_name, entry.limits.repeat_limit
    identity = (tool_id, attempt.digest)
    earlier = turn.repeats.get(identity, 0)
    if (earlier or limit == 1) and isinstance(decision := is_not_repeating(name, earlier, limit), Deny):
        turn.note_loop(tool_id)
        return decision
    if empty_results := turn.empty_results.get(tool_id, 0):
        decision = is_not_fruitless(name, empty_results, entry.limits.empty_limit)
        if isinstance(decision, Deny):
            return decision
    turn.repeats[identity] = earlier + 1
    attempt.counted = True
    return None


CHECKS: tuple[Check, ...] = (mask, mode, session, size, parse, supply, validate, loop)


def _why_masked(entry: Entry, *, looped: bool) -> str:
    if not entry.allowed:
        return "masked"
    if looped:
        return "masked after a loop"
    if entry.trusted is not None and is_kept_from(entry.trusted, entry.spec):
        return f"kept from this model: {entry.trusted.why}"
    return "not offered to models"


def _refusal(decision: Allow | Deny) -> Deny | None:
    return decision if isinstance(decision, Deny) else None


def _assign_key(attempt: Attempt, entry: Entry) -> None:
    """Name the effect: by the caller, by the tool that it serves, or by the tool's own scope."""
    turn = attempt.turn
    if attempt.given_key is not None:
        attempt.key = caller_key(attempt.given_key)
    elif attempt.parent is not None and attempt.parent.key and entry.spec.policy.scope in ("run", "call"):
        parent = attempt.parent
        attempt.key = nested_key(parent.tool_id, parent.key, entry.spec.tool_id, attempt.digest)
    elif not entry.is_action and not entry.limits.confirm:  # asked for want of trust: two looks are two questions
        attempt.key = joined("call", turn.conversation_id, attempt.call_id)
    elif turn.run_id or attempt.parent is not None:
        is_named = isinstance(entry.spec.policy.scope, str)
        attempt.key = effect_key(
            entry.spec,
            attempt.arguments if is_named else _scoped(attempt, entry),
            attempt.digest,
            run_id=turn.run_id,
            session_id=turn.conversation_id,
            call_id=attempt.call_id,
        )
    else:  # a call outside a run, without a key, is meant to happen each time
        attempt.key = joined("once", turn.session_id, attempt.call_id)
        attempt.is_fresh = not attempt.given_id


def _named(attempt: Attempt) -> JsonObject:
    """What the request was opened with; a caller that is no model may also name objects in the arguments."""
    turn = attempt.turn
    return turn.supplied if attempt.caller == "model" else {**attempt.arguments, **turn.supplied}


def _scoped(attempt: Attempt, entry: Entry) -> JsonObject:
    """The arguments that a scope names: with the values that the executor will supply, not a model's own."""
    values = dict(attempt.arguments)
    for name in entry.spec.policy.supplied:
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
