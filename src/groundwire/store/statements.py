"""The SQL that both databases understand. `$n` stands for values; SQLite gets it as `?n`."""

# ruff: noqa: S608 - what is put together here are names of our own columns

from collections.abc import Iterable
from functools import cache

from groundwire.store.rows import (
    AUDIT_FIELDS,
    CALL_FIELDS,
    CONFIRMATION_FIELDS,
    EFFECT_FIELDS,
    KEY_FIELDS,
    RUN_FIELDS,
    SESSION_FIELDS,
)
from groundwire.store.rules import LEASE_FIELDS, RUN_CHANGES

BY_NUMBER = "/* by number */"
"""Where SQLite is to read rows in their order: left alone, it takes any index that begins with the tenant, and then
sorts, or jumps to each row of the tenant in turn."""
ENTRIES_PER_RUN = 2**24
"""How far the numbers of two runs are apart in the table of entries; a run has fewer."""


def _columns(fields: Iterable[str]) -> str:
    return ", ".join(fields)


def _insert(table: str, fields: tuple[str, ...]) -> str:
    places = ", ".join(f"${number}" for number in range(1, len(fields) + 1))
    return f"INSERT INTO {table} ({_columns(fields)}) VALUES ({places})"


def _assign(fields: Iterable[str], first: int) -> str:
    return ", ".join(f"{field} = ${number}" for number, field in enumerate(fields, first))


_SESSION = _columns(SESSION_FIELDS)
_CALL = _columns(CALL_FIELDS)
_EFFECT = _columns(EFFECT_FIELDS)
_CONFIRMATION = _columns(CONFIRMATION_FIELDS)
_RUN = _columns(RUN_FIELDS)
_AUDIT = _columns(AUDIT_FIELDS)
_SESSION_CHANGES = (
    *(field for field in SESSION_FIELDS if field not in {"tenant", "session_id", "version"}),
    "turns_tracked",
)
_KEY = "tenant = $1 AND tool = $2 AND key = $3"
# A reservation ends only by the attempt that holds it, and never against a person's decision.
_HELD = f"{_KEY} AND attempt = $4 AND status <> 'settled' AND decided_by = ''"

# Sessions
SELECT_SESSION = f"SELECT {_SESSION} FROM sessions WHERE tenant = $1 AND session_id = $2"
INSERT_SESSION = _insert("sessions", (*SESSION_FIELDS, "turns_tracked")) + " ON CONFLICT DO NOTHING"
SELECT_SESSION_COUNTS = (
    "SELECT status, turns, turns_tracked, calls FROM sessions WHERE tenant = $1 AND session_id = $2 AND version = $3"
)
UPDATE_SESSION = (
    f"UPDATE sessions SET {_assign(_SESSION_CHANGES, 4)}, version = version + 1"
    " WHERE tenant = $1 AND session_id = $2 AND version = $3"
)
_TOTALS = ("total", "active", "turns", "turns_tracked", "calls")
ADD_SESSION_TOTALS = (
    _insert("session_totals", ("tenant", *_TOTALS, "peak_tokens"))
    + f" ON CONFLICT (tenant) DO UPDATE SET {', '.join(f'{name} = session_totals.{name} + excluded.{name}' for name in _TOTALS)},"
    " peak_tokens = CASE WHEN excluded.peak_tokens > session_totals.peak_tokens"
    " THEN excluded.peak_tokens ELSE session_totals.peak_tokens END"
)
SELECT_SESSION_TOTALS = f"SELECT {_columns(_TOTALS)}, peak_tokens FROM session_totals WHERE tenant = $1"
LIST_SESSIONS = f"SELECT {_SESSION} FROM sessions WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
SESSION_SEQ = "SELECT seq FROM sessions WHERE tenant = $1 AND session_id = $2"
INSERT_ARTIFACT = "INSERT INTO artifacts (version, body) VALUES ($1, $2) ON CONFLICT DO NOTHING"
SELECT_ARTIFACT = "SELECT body FROM artifacts WHERE version = $1"

# Effects
INSERT_EFFECT = _insert("effects", EFFECT_FIELDS) + " ON CONFLICT DO NOTHING"
SELECT_EFFECT = f"SELECT {_EFFECT} FROM effects WHERE {_KEY}"
SELECT_EFFECT_BY_ID = f"SELECT {_EFFECT} FROM effects {BY_NUMBER} WHERE tenant = $1 AND effect_id = $2"
TAKE_OVER_EFFECT = f"UPDATE effects SET {_assign(EFFECT_FIELDS, 4)} WHERE {_KEY} AND status = 'unknown'"
SETTLE_EFFECT = f"UPDATE effects SET status = $5, result = $6, note = $7, updated_at = $8 WHERE {_HELD}"
RELEASE_EFFECT = f"DELETE FROM effects WHERE {_HELD}"
LAPSE_EFFECT = f"UPDATE effects SET status = 'unknown' WHERE {_KEY} AND status = 'reserved' AND lease_until <= $4"
LAPSE_EFFECTS = (
    f"UPDATE effects {BY_NUMBER} SET status = 'unknown' WHERE status = 'reserved' AND tenant = $1 AND lease_until <= $2"
)
RENEW_LEASES = (
    f"UPDATE effects SET lease_until = $6, updated_at = $5 WHERE {_KEY}"
    " AND owner = $4 AND status = 'reserved' AND lease_until > $5"
)
DECIDE_EFFECT = f"UPDATE effects SET status = $4, result = $5, note = $6, updated_at = $7, decided_by = $8 WHERE {_KEY}"
DELETE_EFFECT = f"DELETE FROM effects WHERE {_KEY}"
EFFECT_SEQ = f"SELECT seq FROM effects {BY_NUMBER} WHERE tenant = $1 AND effect_id = $2"
_NEWEST_EFFECTS = "tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
LIST_ALL_EFFECTS = f"SELECT {_EFFECT} FROM effects {BY_NUMBER} WHERE {_NEWEST_EFFECTS}"
LIST_EFFECTS = f"SELECT {_EFFECT} FROM effects {BY_NUMBER} WHERE status = $4 AND {_NEWEST_EFFECTS}"
LIST_UNKNOWN_EFFECTS = f"SELECT {_EFFECT} FROM effects WHERE status = 'unknown' AND {_NEWEST_EFFECTS}"
# Rows are numbered by age, so the old ones are those before the first that is young enough.
OLDEST_EFFECT = "SELECT COALESCE(MIN(seq), 0) FROM effects"
FIRST_YOUNG_EFFECT = "SELECT seq FROM effects WHERE created_at >= $1 ORDER BY seq LIMIT 1"
HIGHEST_EFFECT = "SELECT COALESCE(MAX(seq), 0) + 1 FROM effects"
FORGET_EFFECTS = "DELETE FROM effects WHERE seq >= $1 AND seq < $2 AND status = 'settled' AND updated_at < $3"

# Calls and counts
INSERT_CALL = _insert("calls", ("seq", *CALL_FIELDS)) + " ON CONFLICT DO NOTHING"
SELECT_CALL = f"SELECT {_CALL} FROM calls WHERE tenant = $1 AND session_id = $2 AND call_id = $3"
CALL_SEQ = "SELECT seq FROM calls WHERE tenant = $1 AND session_id = $2 AND call_id = $3"
CALL_SEQ_ANYWHERE = "SELECT MAX(seq) FROM calls WHERE tenant = $1 AND call_id = $2"
TOOLS_CALLED = """
    WITH RECURSIVE found (tool) AS (
        SELECT MIN(tool) FROM calls WHERE tenant = $1 AND executed = TRUE
        UNION ALL
        SELECT (SELECT MIN(tool) FROM calls WHERE tenant = $1 AND tool > found.tool AND executed = TRUE)
        FROM found WHERE found.tool IS NOT NULL
    )
    SELECT tool FROM found WHERE tool IS NOT NULL
"""
TOOL_SAMPLES = (
    "SELECT chars, tokens, duration_ms FROM calls WHERE tenant = $1 AND tool = $2 AND executed = TRUE"
    " ORDER BY seq DESC LIMIT $3"
)
ADD_COUNTER = (
    "INSERT INTO counters (tenant, name, scope, used) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (tenant, name, scope) DO UPDATE SET used = counters.used + excluded.used"
)
CHARGE_COUNTER = ADD_COUNTER + " WHERE counters.used + excluded.used <= $5"
CHARGE_KNOWN_COUNTER = (
    "UPDATE counters SET used = used + $4 WHERE tenant = $1 AND name = $2 AND scope = $3 AND used + $4 <= $5"
)
SELECT_COUNTER = "SELECT used FROM counters WHERE tenant = $1 AND name = $2 AND scope = $3"
LIST_COUNTERS = "SELECT scope, used FROM counters WHERE tenant = $1 AND name = $2"
SAVE_BLOB = (
    "INSERT INTO blobs (tenant, session_id, ref, body, created_at) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (tenant, session_id, ref) DO UPDATE SET body = excluded.body, created_at = excluded.created_at"
)
SELECT_BLOB = "SELECT body FROM blobs WHERE tenant = $1 AND session_id = $2 AND ref = $3"

# Confirmations
_BINDING = "tenant = $1 AND binding = $2 AND tool = $3 AND input_digest = $4 AND is_current"
INSERT_CONFIRMATION = _insert("confirmations", (*CONFIRMATION_FIELDS, "is_current")) + " ON CONFLICT DO NOTHING"
RETIRE_CONFIRMATION = f"UPDATE confirmations SET is_current = FALSE WHERE {_BINDING} AND expires_at <= $5"
FIND_CONFIRMATION = f"SELECT {_CONFIRMATION} FROM confirmations WHERE {_BINDING} AND expires_at > $5"
SELECT_CONFIRMATION = f"SELECT {_CONFIRMATION} FROM confirmations WHERE tenant = $1 AND confirmation_id = $2"
DECIDE_CONFIRMATION = (
    "UPDATE confirmations SET status = $3, decided_by = $4, note = $5, decided_at = $6"
    " WHERE tenant = $1 AND confirmation_id = $2 AND status = 'pending' AND expires_at > $6"
)
RETIRE_OTHERS = f"UPDATE confirmations SET is_current = FALSE WHERE {_BINDING} AND confirmation_id <> $5"
EDIT_CONFIRMATION = (
    "UPDATE confirmations SET input_digest = $3, arguments = $4, question = $5, edited = TRUE"
    " WHERE tenant = $1 AND confirmation_id = $2"
)
SPEND_CONFIRMATION = (
    "UPDATE confirmations SET status = 'spent', is_current = FALSE"
    " WHERE tenant = $1 AND confirmation_id = $2 AND status = 'approved' AND expires_at > $3"
)
CONFIRMATION_SEQ = "SELECT seq FROM confirmations WHERE tenant = $1 AND confirmation_id = $2"
LIST_CONFIRMATIONS = (
    f"SELECT {_CONFIRMATION} FROM confirmations WHERE tenant = $1 AND status = $4 AND seq < $2"
    " ORDER BY seq DESC LIMIT $3"
)
LIST_ALL_CONFIRMATIONS = (
    f"SELECT {_CONFIRMATION} FROM confirmations WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
)

# Runs
INSERT_RUN = _insert("runs", RUN_FIELDS) + " ON CONFLICT DO NOTHING"
_OWN_RUN = "tenant = $1 AND run_id = $2 AND entries = $3 AND owner = $4"
# An append does not renew the lease, which has a timer of its own, so that it changes no indexed column.
UPDATE_RUN = f"UPDATE runs SET {_assign(RUN_CHANGES, 5)}, resumes = 0 WHERE {_OWN_RUN}"
END_RUN = (
    f"UPDATE runs SET {_assign((*RUN_CHANGES, 'due_at'), 5)}, resumes = 0, owner = '', cancel_requested = FALSE"
    f" WHERE {_OWN_RUN}"
)
_SAME_LEASE = "owner = $7 AND due_at = $8 AND resumes = $9 AND cancel_requested = $10"
SWAP_LEASE = f"UPDATE runs SET {_assign(LEASE_FIELDS, 3)} WHERE tenant = $1 AND run_id = $2 AND {_SAME_LEASE}"
DUE_RUNS = f"SELECT {_RUN} FROM runs WHERE due_at > 0 AND due_at <= $1 ORDER BY due_at LIMIT $2"
RUNS_TO_CANCEL = "SELECT owner FROM runs WHERE cancel_requested AND owner > ''"
# Pausing and deciding both lock the approval first and the run second, so they cannot deadlock.
LOCK_APPROVAL = "UPDATE confirmations SET status = status WHERE tenant = $1 AND confirmation_id = $2"
SELECT_APPROVAL_STATUS = "SELECT status, expires_at FROM confirmations WHERE tenant = $1 AND confirmation_id = $2"
INSERT_RUN_WAIT = "INSERT INTO run_waits (tenant, run_id, approval_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
DELETE_RUN_WAITS = "DELETE FROM run_waits WHERE tenant = $1 AND run_id = $2"
WAKE_RUNS = (
    "UPDATE runs SET due_at = $3 WHERE tenant = $1 AND outcome = 'awaiting_approval' AND owner = ''"
    " AND run_id IN (SELECT run_id FROM run_waits WHERE tenant = $1 AND approval_id = $2)"
)
SELECT_RUN = f"SELECT {_RUN} FROM runs WHERE tenant = $1 AND run_id = $2"
_FIRST_ENTRY = f"(SELECT seq * {ENTRIES_PER_RUN} FROM runs WHERE tenant = $1 AND run_id = $2)"
INSERT_RUN_ENTRY = f"INSERT INTO run_entries (id, body, created_at) VALUES ({_FIRST_ENTRY} + $3, $4, $5)"
SELECT_RUN_ENTRIES = (
    f"SELECT id % {ENTRIES_PER_RUN}, body, created_at FROM run_entries"
    f" WHERE id >= {_FIRST_ENTRY} AND id < {_FIRST_ENTRY} + {ENTRIES_PER_RUN} ORDER BY id"
)
SELECT_SESSION_ENTRIES = (
    f"SELECT runs.run_id, run_entries.id % {ENTRIES_PER_RUN}, run_entries.body, run_entries.created_at"
    " FROM runs CROSS JOIN run_entries"  # which SQLite reads from left to right
    f" WHERE runs.tenant = $1 AND runs.session_id = $2 AND run_entries.id >= runs.seq * {ENTRIES_PER_RUN}"
    f" AND run_entries.id < (runs.seq + 1) * {ENTRIES_PER_RUN} ORDER BY runs.seq"
)
RUN_SEQ = "SELECT seq FROM runs WHERE tenant = $1 AND run_id = $2"
_NEWEST_RUNS = "tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
LIST_RUNS = f"SELECT {_RUN} FROM runs WHERE session_id = $4 AND {_NEWEST_RUNS}"
LIST_ALL_RUNS = f"SELECT {_RUN} FROM runs {BY_NUMBER} WHERE {_NEWEST_RUNS}"

# Keys
INSERT_KEY = _insert("api_keys", KEY_FIELDS) + " ON CONFLICT DO NOTHING"
FIND_KEY = f"SELECT {_columns(KEY_FIELDS)} FROM api_keys WHERE digest = $1"
KEY_SEQ = "SELECT seq FROM api_keys WHERE tenant = $1 AND key_id = $2"
LIST_KEYS = f"SELECT {_columns(KEY_FIELDS)} FROM api_keys WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
REVOKE_KEY = "UPDATE api_keys SET revoked_at = $3 WHERE tenant = $1 AND key_id = $2 AND revoked_at IS NULL"
SELECT_KEYS_VERSION = "SELECT version FROM key_changes WHERE id = 1"
INSERT_KEY_USAGE = "INSERT INTO key_usage (key_id, place, start, used) VALUES ($1, $2, $3, $4)"
SELECT_KEY_USAGE = "SELECT start, used FROM key_usage WHERE key_id = $1 ORDER BY place"
UPDATE_KEY_USAGE = "UPDATE key_usage SET start = $3, used = $4 WHERE key_id = $1 AND place = $2"

# The audit chain
SELECT_HEAD = "SELECT seq, hash FROM audit_head WHERE id = 1"
MOVE_HEAD = "UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1 AND seq = $3 AND hash = $4"
TOUCH_HEAD = "UPDATE audit_head SET seq = seq WHERE id = 1"
INSERT_AUDIT = _insert("audit", AUDIT_FIELDS)
READ_AUDIT = f"SELECT {_AUDIT} FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2"
LIST_AUDIT = f"SELECT {_AUDIT} FROM audit WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
SELECT_AUDIT_HASH = "SELECT hash FROM audit WHERE seq = $1"
FIRST_KEPT = "SELECT seq FROM audit WHERE created_at >= $1 ORDER BY seq LIMIT 1"
LAST_BEFORE = "SELECT seq, hash FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT 1"
DELETE_AUDIT = "DELETE FROM audit WHERE seq < $1"


@cache
def select_counters(count: int) -> str:
    pairs = " OR ".join(f"(name = ${2 * number} AND scope = ${2 * number + 1})" for number in range(1, count + 1))
    return f"SELECT name, scope, used FROM counters WHERE tenant = $1 AND ({pairs})"


@cache
def list_calls(*by: str) -> str:
    """Newest first; their values for these columns are $4 and so on."""
    conditions = ["tenant = $1", "seq < $2", *(f"{column} = ${place}" for place, column in enumerate(by, 4))]
    table = "calls" if "session_id" in by else f"calls {BY_NUMBER}"
    return f"SELECT {_CALL} FROM {table} WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT $3"
