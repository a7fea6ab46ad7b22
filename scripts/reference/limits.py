"""limits.md: the sizes, times and numbers at which something is refused, cut off or forgotten, from the constants."""

import re

from groundwire.apps.supplier.brain.endpoints import MAX_BODY
from groundwire.apps.supplier.signals.events import MAX_EVENT
from groundwire.contracts.canonical import MAX_DEPTH
from groundwire.contracts.jobs import JobSettings
from groundwire.contracts.schema_limits import SchemaLimits
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway import idempotency
from groundwire.gateway.governed import MAX_PATTERNS
from groundwire.jobs import checks
from groundwire.jobs.book import MAX_INTERRUPTIONS
from groundwire.mcp.messages import MAX_MESSAGE
from groundwire.mcp.upstream.connection import CONNECT_SECONDS, READ_SECONDS
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.registry.evaluation_meter import GRANTED_NODES
from groundwire.registry.names import MAX_NAME
from groundwire.registry.validators import MAX_EXPLAINED
from groundwire.runtime.ledger import KEEP_SETTLED_SECONDS, LedgerTimes
from groundwire.runtime.policies.limits import BACKGROUND_HARD_MS, MAX_BYTES, MODE_HARD_MS, Limits, Profile
from groundwire.runtime.runs.options import RunLimits
from groundwire.runtime.sessions import MAX_ID_CHARS
from groundwire.runtime.validation import MAX_LONG_NUMBERS
from groundwire.serving.bodies import FREE_OF_RATIO, MOST_ENCODINGS
from groundwire.serving.body_unpacker import BODIES_IN_MEMORY, WAIT_SECONDS
from groundwire.serving.paging import MOST
from groundwire.serving.webhooks.attempts import LONGEST_WAIT, WEBHOOK_DELAYS
from groundwire.serving.webhooks.sending import TIMEOUT
from groundwire.serving.webhooks.signing import TOLERANCE
from groundwire.store import postgres
from scripts.reference.markdown import page, table

INTRODUCTION = """
Sizes, times and numbers at which something is refused, cut off or forgotten, with the value that holds where nothing else is
set. Without a limit of ours are the length of an answer, of a stream and of a conversation, how many conversations there are,
and how often somebody asks whose [key](../guides/keys.md#limits) has none.
"""
HEADERS = ("what", "limit", "beyond it", "set by")
_SERVER, _TIMES, _RETRY, _LEDGER, _RUN = ServerSettings(), Timeouts(), RetryPolicy(), LedgerTimes(), RunLimits()
_SCHEMA = SchemaLimits()
_TOOL, _PROFILE, _JOBS = Limits(soft_ms=None, hard_ms=0), Profile(), JobSettings()

REQUESTS = (
    ("body of a request, unpacked", f"{_SERVER.max_body:,} bytes", "413", "`[server] maxBody`"),
    ("times that a body may be compressed", f"{MOST_ENCODINGS}", "400", "–"),
    (f"compression ratio of a body of more than {FREE_OF_RATIO:,} bytes", f"{_SERVER.max_compression_ratio:g}", "413, `compression_ratio_too_high`", "`[server] maxCompressionRatio`"),
    ("large unpacked bodies in memory, per process, until their requests end", f"{BODIES_IN_MEMORY} × `maxBody`", f"they wait up to {WAIT_SECONDS:g} s, then 503 with `Retry-After`", "`[server] maxBody`"),
    ("message to `/mcp`, or on a line of `groundwire mcp`", f"{MAX_MESSAGE:,} bytes", "413, or an error", "–"),
    ("turns of a kept conversation", f"{_SERVER.max_turns:,}", "400, `conversation_too_long`", "`[server] maxTurns`"),
    ("requests in work, per process; health and metrics are always told", f"{_SERVER.max_in_flight:,}", "503 with `Retry-After`", "`[server] maxInFlight`"),
    ("connections, per process", "half of the open files that the system allows, at most 32,768", "above 87 %, idle ones are closed, the longest idle first", "`ulimit -n`"),
    ("requests in work where open files are few", "three quarters of the connections", "503 with `Retry-After`", "`ulimit -n`"),
    (f"deaths of workers within {_SERVER.worker_death_window:g} s", f"{_SERVER.max_worker_deaths}", "the server ends with exit code 1", "`[server] maxWorkerDeaths`, `workerDeathWindow`"),
    ("nesting of JSON sent to `/api`, and of arguments", f"{MAX_DEPTH} levels", "400, or VALIDATION", "–"),
    ("`Idempotency-Key`", f"{idempotency.MAX_KEY} characters", "400", "–"),
    ("ids of sessions and calls, names of conversations", f"{MAX_ID_CHARS} characters", "400", "–"),
    ("name of a relayed session", f"{MAX_ID_CHARS} characters", "404", "–"),
    ("event of a signal", f"under {MAX_EVENT:,} bytes", "long texts are cut, then `signal_too_large`", "–"),
    ("webhook to the brain", f"{MAX_BODY:,} bytes", "413", "–"),
    ("difference between a webhook's time and ours", f"{TOLERANCE} s", "401", "–"),
    ("page of a listing under `/api`", f"{MOST:,} rows", "400", "`?limit=`"),
)  # fmt: skip
TIMES = (
    ("a connection without a request: silent, with incomplete headers, or kept open", f"{_SERVER.header_timeout:g} s", "it is closed", "`[server] headerTimeout`"),
    ("an answer of which the client receives nothing more", f"{_SERVER.header_timeout:g} s to twice that", "it is closed", "`[server] headerTimeout`"),
    ("the body of a request, from its first byte to its last", f"{_SERVER.body_timeout:g} s", "408", "`[server] bodyTimeout`"),
    ("a model's whole answer", f"{_TIMES.total:g} s", "504", "`timeouts.total` of the provider"),
    ("silence within a stream", f"{_TIMES.total:g} s", "the stream ends with an error", "`timeouts.read`"),
    ("connecting to a provider", f"{_TIMES.connect:g} s", "tried again, then 503 or 504", "`timeouts.connect`"),
    ("attempts of a request to a provider", f"{_RETRY.attempts}", "the last failure is answered", "`retry.attempts`"),
    ("wait that a provider may ask for", f"{_RETRY.longest:g} s", "its failure is answered at once", "`retry.longest`"),
    ("a model's turn that brings tool results", f"{_SERVER.result_timeout:g} s", "504", "`[server] resultTimeout`"),
    ("a relayed request that waits for results", f"{_SERVER.relay_wait:g} s", "the placeholder again", "`[server] relayWait`"),
    ("a request whose `Idempotency-Key` is in use", f"{idempotency.WAIT_SECONDS:g} s", "409 with `Retry-After`", "–"),
    ("an `Idempotency-Key` that a dead process holds", f"{idempotency.HOLD_SECONDS} s", "it is free again", "–"),
    ("answers that have begun when it stops", f"{_SERVER.shutdown_seconds} s", "they are cut off", "`[server] shutdownSeconds`"),
    ("connecting to another MCP server", f"{CONNECT_SECONDS:g} s", "its tools are away", "–"),
    ("an answer of another MCP server", f"{READ_SECONDS:g} s", "TIMEOUT, or earlier by the tool's limit", "`hardMs`"),
    ("an answer of a webhook's receiver", f"{TIMEOUT:g} s", "a failed attempt", "`WebhookSender(timeout=…)`, at most 30"),
    ("attempts to deliver a webhook", f"{len(WEBHOOK_DELAYS) + 1}", "a dead letter", "–"),
    ("wait that a webhook's receiver may ask for", f"{LONGEST_WAIT / 3600:g} hours", "that long all the same", "–"),
    ("a statement on PostgreSQL", f"{postgres.COMMAND_SECONDS:g} s", "503", "–"),
    ("a write on SQLite that waits for another process", "10 s", "503", "–"),
)  # fmt: skip
JOBS = (
    ("payload, result and progress of a job, each", f"{checks.MAX_BYTES:,} bytes as JSON", "refused; of a result, a dead letter", "–"),
    ("name of a kind, of a tenant, of a key", f"100, {checks.MAX_NAME_CHARS} and {checks.MAX_KEY_CHARS:,} characters", "refused", "–"),
    ("time at which a job is due", "from 1970 to the end of 9999", "refused", "–"),
    ("attempts of a job", f"{checks.MAX_ATTEMPTS:,}", "refused", "`RetrySchedule`"),
    ("wait between two attempts", "10 years", "refused; of `RetryLater`, a failed attempt", "`RetrySchedule`, `RetryLater`"),
    ("workers that die over a job", f"{MAX_INTERRUPTIONS + 1}", "a dead letter", "–"),
)  # fmt: skip
TOOLS = (
    ("arguments of a call", f"{MAX_BYTES:,} bytes", "ARGUMENTS_TOO_LARGE", "`maxArgsBytes`"),
    ("result of a call", f"{MAX_BYTES:,} bytes", "TOOL_OUTPUT_TOO_LARGE, or [a reference](../guides/tools.md#large-results)", "`maxOutputBytes`"),
    ("time of a call by text", f"{MODE_HARD_MS['text'] / 1000:g} s", "TIMEOUT", "`hardMs`"),
    ("time of a call by voice", f"{MODE_HARD_MS['voice'] / 1000:g} s", "TIMEOUT", "`hardMs`"),
    ("time of a background call", f"{BACKGROUND_HARD_MS / 60_000:g} minutes", "TIMEOUT", "`hardMs`"),
    ("the same call in a turn", f"{_TOOL.repeat_limit - 1} times", "LOOP_DETECTED", "`repeatLimit`"),
    ("empty results of a tool in a turn", f"{_TOOL.empty_limit}", "LOOP_DETECTED", "`emptyLimit`"),
    ("refused calls in a row", f"{_PROFILE.max_refusals}", "no more calls in this turn", "`maxRefusals`"),
    ("steps of a run", f"{_RUN.max_steps}", "the outcome `step_limit`", "[limits of a run](run-settings.md#limits)"),
    ("wait for an equal call in flight", f"{_LEDGER.wait_seconds:g} s", "CONFLICT", "`[ledger] waitSeconds`"),
    ("a question to a person, and its answer", f"{_LEDGER.confirmation_seconds:g} s", "asked anew", "`[ledger] confirmationSeconds`"),
)  # fmt: skip
SCHEMAS = (
    ("evaluations of subschemas for one node of a value", f"{_SCHEMA.max_evaluations:,}", "SCHEMA_TOO_COMPLEX", "`[schemas] maxEvaluations`"),
    ("a schema as JSON", f"{_SCHEMA.max_bytes:,} bytes", "SCHEMA_TOO_COMPLEX", "`[schemas] maxBytes`"),
    ("nesting of a schema", f"{_SCHEMA.max_depth} levels", "SCHEMA_TOO_COMPLEX", "`[schemas] maxDepth`"),
    ("subschemas", f"{_SCHEMA.max_subschemas:,}", "SCHEMA_TOO_COMPLEX", "`[schemas] maxSubschemas`"),
    ("references", f"{_SCHEMA.max_references:,}", "SCHEMA_TOO_COMPLEX", "`[schemas] maxReferences`"),
    ("patterns", f"{_SCHEMA.max_patterns:,}", "SCHEMA_TOO_COMPLEX", "`[schemas] maxPatterns`"),
    ("states of all patterns", f"{_SCHEMA.max_pattern_states:,}", "SCHEMA_TOO_COMPLEX", "`[schemas] maxPatternStates`"),
    ("evaluations of a recursive schema for one value", f"{_SCHEMA.max_evaluations:,} for each of its nodes and for {GRANTED_NODES:,} more", "VALIDATION", "`[schemas] maxEvaluations`"),
    ("numbers beyond 2⁵³ in a value, where they are compared", f"{MAX_LONG_NUMBERS:,}", "VALIDATION", "–"),
    ("errors of a value that are collected", f"{MAX_EXPLAINED:,}", "VALIDATION without details", "–"),
    ("names and patterns of the server's tools in a request", f"{MAX_PATTERNS:,} of {MAX_NAME} characters", "400", "–"),
)  # fmt: skip
KEPT = (
    ("answers under an `Idempotency-Key`", f"{idempotency.KEPT_SECONDS // 3600} hours; none longer than {idempotency.MAX_ANSWER:,} bytes"),
    ("keys of settled effects", f"at least {KEEP_SETTLED_SECONDS / 86_400:g} days; older ones go when a runtime opens the store"),
    ("conversations and responses", f"{_SERVER.retention_days} days after the last turn (`[server] retentionDays`); `DELETE /v1/responses/{{responseId}}` removes an answer, what was said stays in its conversation"),
    ("steps that a client may bring back bare, relayed calls", f"{_SERVER.retention_days} days (`[server] retentionDays`)"),
    ("jobs that have ended, and their keys", f"{_JOBS.retain_days:g} days (`[jobs] retainDays`)"),
    ("sessions, calls, runs, approvals, spilled results, signals, keys", "for good, revoked keys too"),
    ("the audit chain", "until `groundwire audit prune`"),
    ("everything in a memory store", "[as long as there is room](../guides/stores.md#memory), and while the process lives"),
)  # fmt: skip


def generate() -> str:
    return page(
        "Limits",
        INTRODUCTION,
        "## Requests to the server",
        table(HEADERS, map(_spaced, REQUESTS)),
        "## Times",
        table(HEADERS, map(_spaced, TIMES)),
        "## Calls and runs",
        "[Policies](../guides/policies.md) set the first eight, for tools, modes or profiles.",
        table(HEADERS, map(_spaced, TOOLS)),
        "## Schemas",
        "[Schemas](../guides/schemas.md) says why these bound the time of every validation.",
        table(HEADERS, map(_spaced, SCHEMAS)),
        "## Jobs",
        table(HEADERS, map(_spaced, JOBS)),
        "## What is kept, and how long",
        table(("what", "how long"), map(_spaced, KEPT)),
    )


def _spaced(row: tuple[str, ...]) -> tuple[str, ...]:
    """Thousands with spaces between them, as on the other pages."""
    return (row[0], re.sub(r"(?<=\d),(?=\d)", " ", row[1]), *row[2:])
