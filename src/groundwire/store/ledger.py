"""What happens inside a transaction: reservations, closings, decisions. Knows SQL, but neither queue nor connection."""

from collections.abc import Awaitable, Sequence

from groundwire.contracts.audit import Chain
from groundwire.contracts.canonical import dump_json
from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import (
    Agreement,
    AuditEntry,
    AuditHead,
    AuditRecord,
    Charge,
    Closing,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    NotApproved,
    OverBudget,
    Overtaken,
    Reservation,
    Reserved,
    ReserveOutcome,
    Session,
    Taken,
    Transition,
)
from groundwire.contracts.runs import Appending, Run, RunEntry
from groundwire.store import statements as sql
from groundwire.store.rows import (
    audit_values,
    call_values,
    confirmation_of,
    confirmation_values,
    effect_of,
    effect_values,
    run_changes,
    run_entry_rows,
    session_of,
    session_values,
)
from groundwire.store.rules import check_places, is_lapsed, lapsed, retention_entry
from groundwire.store.transactions import Transaction, Values

_RESERVED = Reserved()
_ALREADY = Reserved()
"""The same attempt asked before and was not told, because the connection broke: it has what it asked for."""

_TRIES = 8
"""How often a key may change hands under our eyes before we give up."""


class Links:
    """The end of the chain within one transaction.

    `known` is where this process left it. If somebody else has moved it on since then, the transaction fails.
    """

    def __init__(self, transaction: Transaction, chain: Chain, known: AuditHead | None) -> None:
        self._transaction = transaction
        self._chain = chain
        self._start = self._head = known
        self.unwritten: list[Values] = []
        self.newest: AuditHead | None = None
        """Of the records that were appended here."""

    @property
    def head(self) -> AuditHead | None:
        """Where the chain ends, if that is known without looking."""
        return self._head

    async def look(self) -> AuditHead:
        """Where the chain ends: read, and kept from being moved on by others, unless this transaction has done that."""
        if self._head is not None and self.newest is not None:
            return self._head
        rows = await self._transaction.fetch(sql.SELECT_HEAD + self._transaction.row_lock)
        if not rows:
            raise StoreError("the head of the audit chain is gone", hint="Restore the store from a backup.")
        self._start = self._head = AuditHead(seq=rows[0][0], hash=rows[0][1])
        return self._head

    async def append(self, entry: AuditEntry) -> AuditRecord:
        return self.append_to(self._head or await self.look(), entry)

    def append_to(self, head: AuditHead, entry: AuditEntry) -> AuditRecord:
        """The same where the end is known."""
        record = self._chain.link(head, entry)
        self.unwritten.append(audit_values(record))
        self._head = self.newest = AuditHead(seq=record.seq, hash=record.hash)
        return record

    async def write(self, others: Sequence[tuple[str, Values]] = ()) -> Sequence[int]:
        """Store what was appended, and run other statements with it; how many rows each of those changed."""
        *earlier, last = self.unwritten
        assert self._start is not None  # noqa: S101 - for the type checker; something was appended
        assert self._head is not None  # noqa: S101
        if earlier:
            await self._transaction.change_many(sql.INSERT_AUDIT, earlier)
        move = (self._head.seq, self._head.hash, self._start.seq, self._start.hash)
        changed = await self._transaction.change_together(((sql.INSERT_AUDIT, last), (sql.MOVE_HEAD, move), *others))
        if not changed[1]:
            raise StoreError("the audit chain does not end any more where it was linked to", hint="Try again.")
        self._start = self._head
        self.unwritten = []
        return changed[2:]


async def reserve_plain(transaction: Transaction, reservations: Sequence[Reservation]) -> list[ReserveOutcome]:
    """Reserve keys that need neither approval nor charge, all with one statement where none is taken."""
    effects = [effect for reservation in reservations if (effect := reservation.effect) is not None]
    outcomes: list[ReserveOutcome] = [_RESERVED] * len(effects)
    # One order for all processes, so that no two wait for each other.
    order = sorted(range(len(effects)), key=lambda index: _key(effects[index]))
    inserted = await transaction.change_each(sql.INSERT_EFFECT, [effect_values(effects[index]) for index in order])
    if len(inserted) < len(effects):
        for position, index in enumerate(order):
            if position not in inserted:
                outcomes[index] = await _meet(transaction, effects[index], reservations[index])
    return outcomes


async def reserve(transaction: Transaction, reservation: Reservation) -> ReserveOutcome:
    """Reserve a key together with its approval and charges, or leave all of them as they were."""
    if reservation.appending is not None and not await append_run(transaction, reservation.appending):
        return Overtaken()
    effect = reservation.effect
    if effect is not None and not reservation.confirmation_id and not reservation.charges:
        return await _reserve_one(transaction, effect, reservation)
    await transaction.change("SAVEPOINT reservation")
    outcome: ReserveOutcome = Reserved()
    if effect is not None:
        outcome = await _reserve_one(transaction, effect, reservation)
    if isinstance(outcome, Reserved) and outcome is not _ALREADY:
        outcome = await _spend(transaction, reservation)
        if not isinstance(outcome, Reserved):
            await transaction.change("ROLLBACK TO SAVEPOINT reservation")
    await transaction.change("RELEASE SAVEPOINT reservation")
    return outcome


async def _reserve_one(transaction: Transaction, effect: Effect, reservation: Reservation) -> ReserveOutcome:
    if await transaction.change(sql.INSERT_EFFECT, *effect_values(effect)):
        return _RESERVED
    return await _meet(transaction, effect, reservation)


async def append_run(transaction: Transaction, appending: Appending) -> bool:
    """The head decides who was first; whoever was writes the entries too."""
    run, entries = appending.run, appending.entries
    check_places(run, entries)
    held = (run.tenant, run.run_id, run.entries, run.owner)
    changes = run_changes(run, len(entries))
    if run.outcome:
        due_at = await _when_due(transaction, run, appending.waiting)
        is_written = await transaction.change(sql.END_RUN, *held, *changes, due_at)
    else:
        is_written = await transaction.change(sql.UPDATE_RUN, *held, *changes)
    if not is_written:
        return False
    for approval_id in appending.waiting:
        await transaction.change(sql.INSERT_RUN_WAIT, run.tenant, run.run_id, approval_id)
    if entries:
        await insert_run_entries(transaction, run, entries)
    return True


async def _when_due(transaction: Transaction, run: Run, waiting: Sequence[str]) -> float:
    """When the first of these approvals expires; now, if one was decided before the run has paused; 0 without any."""
    due_at = [0.0] if not waiting else []
    for approval_id in waiting:
        await transaction.change(sql.LOCK_APPROVAL, run.tenant, approval_id)
        rows = await transaction.fetch(sql.SELECT_APPROVAL_STATUS, run.tenant, approval_id)
        is_pending = bool(rows) and rows[0][0] == ConfirmationStatus.PENDING
        due_at.append(rows[0][1] if is_pending else run.updated_at)
    return min(due_at)


def insert_run_entries(transaction: Transaction, run: Run, entries: Sequence[RunEntry]) -> Awaitable[None]:
    if run.entries + len(entries) >= sql.ENTRIES_PER_RUN:
        raise StoreError(f"the run {run.run_id} has too many entries", hint="Begin another run in its session.")
    return transaction.change_many(sql.INSERT_RUN_ENTRY, run_entry_rows(run, entries))


def _key(holder: Effect | Transition) -> tuple[str, str, str]:
    return holder.tenant, holder.tool, holder.key


async def _meet(transaction: Transaction, effect: Effect, reservation: Reservation) -> ReserveOutcome:
    """The key exists, or did a moment ago."""
    key = _key(effect)
    for _ in range(_TRIES):
        rows = await transaction.fetch(sql.SELECT_EFFECT, *key)
        if not rows:
            if await transaction.change(sql.INSERT_EFFECT, *effect_values(effect)):
                return Reserved()
            continue
        held = effect_of(rows[0])
        if is_lapsed(held, reservation.now):
            if not await transaction.change(sql.LAPSE_EFFECT, *key, reservation.now):
                continue
            held = lapsed(held)
        if held.status == EffectStatus.RESERVED and held.attempt == effect.attempt:
            return _ALREADY
        if not (reservation.takeover and held.status == EffectStatus.UNKNOWN):
            return Taken(effect=held)
        if await transaction.change(sql.TAKE_OVER_EFFECT, *key, *effect_values(effect)):
            return Reserved()
    raise StoreError(f"the key of {effect.tool} could not be reserved", hint="Is its effect id already in use?")


async def _spend(transaction: Transaction, reservation: Reservation) -> ReserveOutcome:
    approval = reservation.confirmation_id
    tenant, now = reservation.tenant, reservation.now
    if approval and not await transaction.change(sql.SPEND_CONFIRMATION, tenant, approval, now):
        return NotApproved()
    for charge in reservation.charges:
        if not await _charge(transaction, tenant, charge):
            rows = await transaction.fetch(sql.SELECT_COUNTER, tenant, charge.name, charge.scope)
            used = rows[0][0] if rows else 0.0
            return OverBudget(name=charge.name, used=used, max=charge.max or 0.0)
    return Reserved()


async def _charge(transaction: Transaction, tenant: str, charge: Charge) -> bool:
    counter = (tenant, charge.name, charge.scope, charge.amount)
    if charge.max is None:
        return await transaction.change(sql.ADD_COUNTER, *counter) > 0
    fits_alone = charge.amount <= charge.max
    statement = sql.CHARGE_COUNTER if fits_alone else sql.CHARGE_KNOWN_COUNTER
    return await transaction.change(statement, *counter, charge.max) > 0


async def close(transaction: Transaction, links: Links, closings: Sequence[Closing]) -> list[bool]:
    """Write the ends of calls in their order; for each, whether its transition applied."""
    applied = [True] * len(closings)
    settling: list[tuple[int, Transition]] = []
    releasing: list[tuple[int, Transition]] = []
    for index, closing in enumerate(closings):
        if closing.transition is not None:
            (settling if closing.transition.status else releasing).append((index, closing.transition))
    if settling:
        await _end(transaction, sql.SETTLE_EFFECT, settling, applied)
    if releasing:
        await _end(transaction, sql.RELEASE_EFFECT, releasing, applied)
    await record(transaction, links, closings)
    return applied


async def close_one(transaction: Transaction, links: Links, closing: Closing) -> bool:
    head = links.head
    record = await links.append(closing.entry) if head is None else links.append_to(head, closing.entry)
    statements: list[tuple[str, Values]] = []
    if closing.call is not None:
        statements.append((sql.INSERT_CALL, call_values(record.seq, closing.call)))
    if closing.charges:
        await count(transaction, [(closing.entry.tenant, charge) for charge in closing.charges])
    transition = closing.transition
    if transition is not None:
        statement = sql.SETTLE_EFFECT if transition.status else sql.RELEASE_EFFECT
        statements.append((statement, _transition_values(transition)))
    changed = await links.write(statements)
    return transition is None or changed[-1] > 0


async def _end(
    transaction: Transaction, statement: str, transitions: list[tuple[int, Transition]], applied: list[bool]
) -> None:
    if len(transitions) > 1:
        transitions.sort(key=lambda item: _key(item[1]))
    changed = await transaction.change_each(statement, [_transition_values(item) for _, item in transitions])
    for position, (index, _) in enumerate(transitions):
        applied[index] = position in changed


def _transition_values(transition: Transition) -> tuple[object, ...]:
    key = (transition.tenant, transition.tool, transition.key, transition.attempt)
    if transition.status is None:
        return key
    return (*key, transition.status._value_, transition.result, transition.note, transition.now)


async def record(transaction: Transaction, links: Links, closings: Sequence[Closing]) -> None:
    calls: list[tuple[object, ...]] = []
    charges: list[tuple[str, Charge]] = []
    for closing in closings:
        place = await links.append(closing.entry)
        if closing.call is not None:
            calls.append(call_values(place.seq, closing.call))
        charges.extend((closing.entry.tenant, charge) for charge in closing.charges)
    if charges:
        await count(transaction, charges)
    if calls:
        await transaction.change_many(sql.INSERT_CALL, calls)


async def count(transaction: Transaction, charges: Sequence[tuple[str, Charge]]) -> None:
    """Count without a limit. Equal counters are added up first, in one order for all processes."""
    sums: dict[tuple[str, str, str], float] = {}
    for tenant, charge in charges:
        counter = (tenant, charge.name, charge.scope)
        sums[counter] = sums.get(counter, 0.0) + charge.amount
    rows = [(*counter, amount) for counter, amount in sorted(sums.items())]
    await transaction.change_many(sql.ADD_COUNTER, rows)


async def decide_effect(
    transaction: Transaction, links: Links, tenant: str, effect_id: str, closing: Closing, by: str
) -> bool:
    transition = closing.transition
    if transition is None:
        raise StoreError("a decision about an effect needs a transition")
    rows = await transaction.fetch(sql.SELECT_EFFECT_BY_ID + transaction.row_lock, tenant, effect_id)
    if not rows:
        return False
    effect = effect_of(rows[0])
    if effect.status != EffectStatus.UNKNOWN and not is_lapsed(effect, transition.now):
        return False
    if transition.status is None:
        await transaction.change(sql.DELETE_EFFECT, *_key(effect))
    else:
        end = (transition.status.value, transition.result, transition.note, transition.now, by)
        await transaction.change(sql.DECIDE_EFFECT, *_key(effect), *end)
    await record(transaction, links, [closing])
    return True


async def create_confirmation(transaction: Transaction, confirmation: Confirmation) -> Confirmation:
    binding = (confirmation.tenant, confirmation.binding, confirmation.tool, confirmation.input_digest)
    for _ in range(_TRIES):
        await transaction.change(sql.RETIRE_CONFIRMATION, *binding, confirmation.created_at)
        if await transaction.change(sql.INSERT_CONFIRMATION, *confirmation_values(confirmation), True):
            return confirmation
        rows = await transaction.fetch(sql.FIND_CONFIRMATION, *binding, confirmation.created_at)
        if rows:
            return confirmation_of(rows[0])
    raise StoreError(f"the question {confirmation.confirmation_id} could not be stored", hint="Is its id in use?")


async def edit_confirmation(transaction: Transaction, tenant: str, confirmation_id: str, instead: Agreement) -> None:
    """Let a question be about other arguments; it is then the only one of that binding."""
    rows = await transaction.fetch(sql.SELECT_CONFIRMATION, tenant, confirmation_id)
    asked = confirmation_of(rows[0])
    binding = (tenant, asked.binding, asked.tool, instead.input_digest)
    await transaction.change(sql.RETIRE_OTHERS, *binding, confirmation_id)
    arguments = dump_json(instead.arguments).decode()
    edit = (instead.input_digest, arguments, instead.question)
    await transaction.change(sql.EDIT_CONFIRMATION, tenant, confirmation_id, *edit)


async def create_session(transaction: Transaction, session: Session) -> Session:
    tracked = len(session.loop_history)
    if not await transaction.change(sql.INSERT_SESSION, *session_values(session), tracked):
        return session_of((await transaction.fetch(sql.SELECT_SESSION, session.tenant, session.session_id))[0])
    sums = (1, session.status == "active", session.turns, tracked, session.calls)
    await _add_totals(transaction, session, sums)
    return session


async def save_session(transaction: Transaction, session: Session) -> bool:
    key = (session.tenant, session.session_id, session.version)
    rows = await transaction.fetch(sql.SELECT_SESSION_COUNTS + transaction.row_lock, *key)
    if not rows:
        return False
    status, turns, tracked, calls = rows[0]
    tracked_now = len(session.loop_history)
    values = dict(zip(session.__struct_fields__, session_values(session), strict=True))
    changes = [value for name, value in values.items() if name not in {"tenant", "session_id", "version"}]
    await transaction.change(sql.UPDATE_SESSION, *key, *changes, tracked_now)
    active = (session.status == "active") - (status == "active")
    sums = (0, active, session.turns - turns, tracked_now - tracked, session.calls - calls)
    await _add_totals(transaction, session, sums)
    return True


async def _add_totals(transaction: Transaction, session: Session, sums: tuple[int, ...]) -> None:
    await transaction.change(sql.ADD_SESSION_TOTALS, session.tenant, *map(int, sums), session.peak_tokens)


async def prune_audit(transaction: Transaction, links: Links, created_before: str, entry: AuditEntry) -> int:
    head = await links.look()
    kept = await transaction.fetch(sql.FIRST_KEPT, created_before)
    first_kept = min(kept[0][0], head.seq) if kept else head.seq
    last = await transaction.fetch(sql.LAST_BEFORE, first_kept)
    if not last:
        return 0
    removed_to = AuditHead(seq=last[0][0], hash=last[0][1])
    count_removed = await transaction.change(sql.DELETE_AUDIT, first_kept)
    await links.append(retention_entry(entry, removed_to, count_removed))
    return count_removed


async def undo(transaction: Transaction, reservation: Reservation) -> None:
    """Give back a key and charges whose caller went away before it could begin. A spent approval stays spent."""
    effect = reservation.effect
    if effect is not None:
        held = (effect.tenant, effect.tool, effect.key, effect.attempt)
        if reservation.takeover:  # what became of the earlier attempt is as unknown as before
            await transaction.change(sql.SETTLE_EFFECT, *held, "unknown", None, effect.note, reservation.now)
        else:
            await transaction.change(sql.RELEASE_EFFECT, *held)
    for charge in reservation.charges:
        await transaction.change(sql.ADD_COUNTER, reservation.tenant, charge.name, charge.scope, -charge.amount)
