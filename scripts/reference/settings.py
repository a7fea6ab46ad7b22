"""settings.md: everything that groundwire.toml and the environment may say."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import groundwire
from groundwire.assembly import (
    AuditSettings,
    LocalSettings,
    ProviderSettings,
    Settings,
    SimulatorSettings,
    StoreSettings,
    TelemetrySettings,
    TrustSettings,
)
from groundwire.contracts.jobs import JobSettings
from groundwire.contracts.schema_limits import SchemaLimits
from groundwire.contracts.servers import ServerSettings
from groundwire.contracts.tools import Budget, Gate
from groundwire.providers.catalogue import ModelEntry, Prices
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.registry.servers import McpServerSettings
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.policies.limits import Overrides, PolicyRule, Profile
from groundwire.runtime.policies.self_approval import ApprovalRule, ApprovalSettings
from scripts.reference.knobs import knob_rows
from scripts.reference.markdown import code, explain, fenced, page, show_default, show_type, table

# Each table of the file: its heading, the type behind it, and what it is for.
TABLES: tuple[tuple[str, type[msgspec.Struct], str], ...] = (
    ("At the top", Settings, "The tables themselves are described below."),
    ("[store]", StoreSettings, "See [stores](../guides/stores.md)."),
    ("[audit]", AuditSettings, "See [the audit chain](../guides/audit.md)."),
    (
        "[ledger]",
        LedgerTimes,
        "See [idempotency](../guides/idempotency.md) and [confirmation](../guides/confirmation.md).",
    ),
    (
        "[approvals]",
        ApprovalSettings,
        "See [who may decide](../guides/confirmation.md#who-may-decide).",
    ),
    ("[[approvals.rules]]", ApprovalRule, "Exceptions for keys and tools. Of those that apply, the last one decides."),
    (
        "[profiles.NAME]",
        Profile,
        "A set of masks and limits that a turn chooses with `profile=`. See [policies](../guides/policies.md).",
    ),
    ("[[policies]]", PolicyRule, "The operator's rules. Later ones win."),
    (
        "[providers.NAME]",
        ProviderSettings,
        "A provider beside those that the environment names. See [models](../guides/models.md).",
    ),
    (
        "[simulator]",
        SimulatorSettings,
        "The built-in model, and `groundwire simulate`. See [the simulator](../guides/simulator.md).",
    ),
    ("[local]", LocalSettings, "See [a local model](../guides/local-model.md)."),
    ("[jobs]", JobSettings, "See [jobs](../guides/jobs.md)."),
    ("[telemetry]", TelemetrySettings, "See [telemetry](../guides/telemetry.md)."),
    ("[trust]", TrustSettings, "See [trust cards](../guides/evals.md#trust-cards)."),
    ("[server]", ServerSettings, "See [the gateway](../guides/gateway.md)."),
    ("[schemas]", SchemaLimits, "How complex a JSON Schema may be. See [schemas](../guides/schemas.md)."),
    ("[mcpServers.NAME]", McpServerSettings, "Another server whose tools join yours. See [MCP](../guides/mcp.md)."),
    ("timeouts", Timeouts, "The value of `timeouts`."),
    ("retry", RetryPolicy, "The value of `retry`."),
    ("[[models]]", ModelEntry, "The catalogue: models with names and properties of your own."),
    ("prices", Prices, "The value of `prices`."),
    ("limits", Overrides, "The value of `limits` in a profile or a rule. What is left out stays as it was."),
    ("budget", Budget, "One entry of `budget`."),
    ("gates", Gate, "One entry of `gates`; a flag's name alone will do."),
)

MEANINGS = {
    "Settings.store": "Where state is kept.",
    "Settings.audit": "How the record is chained and witnessed.",
    "Settings.ledger": "How long things are waited for.",
    "Settings.approvals": "Who may decide on calls that need a person's approval.",
    "ApprovalSettings.selfApproval": "Whether an API key may approve calls that it made, or that were made in runs that it started.",
    "ApprovalSettings.rules": "Exceptions, see below.",
    "ApprovalRule.keys": "Ids of keys, as `groundwire keys list` shows them. Empty: all keys.",
    "ApprovalRule.tools": "Globs of the tools that the exception is for.",
    "ApprovalRule.selfApproval": "Whether these keys may approve their own calls of these tools.",
    "Settings.flags": "Feature flags for gates. A flag that is not here is looked up in the environment.",
    "Settings.profiles": "Profiles by name.",
    "Settings.policies": "Rules for tools.",
    "Settings.evals": "Models, profiles and strategies to evaluate: `[[evals.models]]`, `[[evals.profiles]]`, "
    "`[[evals.strategies]]`. See [evaluations](../guides/evals.md#models-profiles-and-strategies).",
    "Settings.providers": "Providers by name.",
    "Settings.simulator": "What the built-in model says, and what goes wrong with it.",
    "SimulatorSettings.script": "A file of answers and rules; relative to the folder of this file. Empty: it has none.",
    "SimulatorSettings.faults": "The seed of a plan of faults. Left out: nothing goes wrong.",
    "SimulatorSettings.rate": "The share of requests that meet a fault. Left out: 0.1 with a seed, 1 with kinds alone.",
    "SimulatorSettings.kinds": "The faults to choose from, such as `status:429` or `cut:60`. Empty: [all](../guides/simulator.md#faults).",
    "Settings.local": "The local model.",
    "LocalSettings.path": "The GGUF file. Empty: there is no local model.",
    "LocalSettings.contextSize": "How many tokens it may read; memory grows with it.",
    "LocalSettings.threads": "How many threads it uses; half of the processors if left out.",
    "Settings.schemas": "How complex the schemas of tools, clients and answers may be.",
    "SchemaLimits.maxBytes": "Size of a schema as JSON.",
    "SchemaLimits.maxDepth": "Levels of nesting of its JSON.",
    "SchemaLimits.maxSubschemas": "Subschemas that an evaluation can reach.",
    "SchemaLimits.maxReferences": "`$ref` and `$dynamicRef` among them.",
    "SchemaLimits.maxEvaluations": "Subschemas that may be evaluated for one node of a value, whatever the value is.",
    "SchemaLimits.maxPatterns": "Different regular expressions.",
    "SchemaLimits.maxPatternStates": "States that they compile to, all together.",
    "Settings.server": "Where and how `groundwire serve` listens.",
    "ServerSettings.host": "The address to listen on. Any but the loopback ones needs a key.",
    "ServerSettings.port": "The port; `GROUNDWIRE_PORT` and `--port` win.",
    "ServerSettings.workers": "Processes that serve.",
    "ServerSettings.maxBody": "The longest body of a request, in bytes; a longer one is a 413.",
    "ServerSettings.maxCompressionRatio": "How many times its length a compressed body of more than a mebibyte may unpack to; more is a 413, `compression_ratio_too_high`.",
    "ServerSettings.headerTimeout": "Seconds after which a connection without a request is closed: one that sends nothing, or only a "
    "part of the headers, or that is kept open for the next request.",
    "ServerSettings.bodyTimeout": "Seconds that the body of a request may take to come; one that takes longer is a 408.",
    "ServerSettings.maxInFlight": "Requests that one process works on at a time, health and metrics aside; more are a 503.",
    "ServerSettings.resultTimeout": "Seconds that a model may take for a turn that brings tool results.",
    "ServerSettings.relayPlaceholder": "What a [relayed](../guides/gateway.md#the-relay) client reads in place of a call.",
    "ServerSettings.relayWait": "Seconds that its next request is held for the results before it reads that again.",
    "ServerSettings.drainSeconds": "How long it still takes requests when it is told to stop, while `/health/ready` says that it is not ready.",
    "ServerSettings.allowedOrigins": "Origins whose pages may use the server besides its own, as browsers send them: "
    "`http://localhost:3000`. They get the headers of CORS. While there is no key, pages of all others are refused, and pages "
    "of other sites cannot change anything even if they are listed.",
    "ServerSettings.allowedHosts": "Names besides `localhost` and `127.0.0.1` by which a server on a loopback address may be "
    "addressed. While there is no key, requests for any other name are refused.",
    "ServerSettings.maxTurns": "Turns that a kept conversation may have, changes of its tools included; more are a 400, `conversation_too_long`.",
    "ServerSettings.keepAliveSeconds": "Silence after which a translated stream gives a sign of life; 0 for none.",
    "ServerSettings.keepSteps": "Keep [what clients drop](../guides/gateway.md#what-is-kept) of a step that called tools; without it, such "
    "a step goes back to the model as the client sends it.",
    "ServerSettings.retentionDays": "Days after which [what nobody came back for](../guides/gateway.md#what-is-kept) is removed; 0 keeps it.",
    "ServerSettings.approvals": "What a call of a server tool does that needs an approval: `answer` refuses it with a text for the model, `pause` pauses its run until the approval is decided. The request header `x-groundwire-approvals` takes precedence, then the key.",
    "ServerSettings.accessLog": "A line of JSON for each request on stdout; `--access-log` does the same.",
    "ServerSettings.shutdownSeconds": "How long answers that have begun may take when the server is told to stop.",
    "ServerSettings.maxWorkerDeaths": "Deaths of workers within `workerDeathWindow` at which the server ends with exit code 1; 0 for never.",
    "ServerSettings.workerDeathWindow": "Seconds for which a worker's death counts towards `maxWorkerDeaths`, and delays its next restart.",
    "Settings.jobs": "How processes work on what was left for later.",
    "JobSettings.serve": "Whether `groundwire serve` works too, where it has background tools.",
    "JobSettings.concurrency": "How many jobs of one kind run at a time in one process.",
    "JobSettings.pollSeconds": "How often a process looks for jobs that are due; ten times less often while nothing happens.",
    "JobSettings.graceSeconds": "How long a process that stops waits for jobs that are running, before it interrupts them.",
    "JobSettings.retainDays": "Days after which jobs that have ended are forgotten, and their keys with them.",
    "Settings.telemetry": "What is told to OpenTelemetry, where the environment asks for it.",
    "TelemetrySettings.captureContent": "Also the declarations of tools, arguments and results.",
    "Settings.mcpServers": "Other MCP servers by name.",
    "McpServerSettings.command": "The program to start; it speaks the protocol over stdin and stdout.",
    "McpServerSettings.args": "Its arguments.",
    "McpServerSettings.env": "Names of environment variables that it gets besides HOME, PATH and the like.",
    "McpServerSettings.cwd": "The folder to start it in; empty: the working folder.",
    "McpServerSettings.url": "The address, for a server that speaks the protocol over HTTP.",
    "McpServerSettings.keyEnv": "The environment variable that holds the key, sent as `Authorization: Bearer`. Empty: none is sent.",
    "McpServerSettings.headers": "More headers for every request.",
    "McpServerSettings.allowPrivate": "Whether the address may be one of this machine or a private network.",
    "McpServerSettings.allow": "Names or globs of the tools to take, as the server names them. Left out: all of them.",
    "McpServerSettings.deny": "Names or globs of those to leave. Wins over `allow`.",
    "McpServerSettings.hardMs": "The time limit of its tools; left out, that of the mode.",
    "McpServerSettings.keepMedia": "Keep pictures, sounds and files in results; else they are only mentioned.",
    "Settings.models": "Entries of the model catalogue.",
    "Settings.defaultProvider": "Who is asked for a model that nobody else knows.",
    "Settings.defaultModel": "The model that `groundwire chat` asks when none is named.",
    "ProviderSettings.dialect": "The API that it speaks.",
    "ProviderSettings.baseUrl": "Where it is, as the vendor's own SDK would be told.",
    "ProviderSettings.keyEnv": "The environment variable that holds the key. Empty: no key is sent.",
    "ProviderSettings.auth": "The header that carries the key; left out, the one of the dialect's vendor.",
    "ProviderSettings.headers": "More headers for every request.",
    "ProviderSettings.timeouts": "How long is waited.",
    "ProviderSettings.retry": "When a request is sent again.",
    "ProviderSettings.overrides": "Members for every request's body. Those that a request owns are ignored.",
    "ProviderSettings.profile": "What its models want beyond the dialect, where it differs from what is known: "
    "[knobs](#profile).",
    "ProviderSettings.proxy": "The URL of an HTTP proxy.",
    "ProviderSettings.caFile": "A file with the certificate of an own authority.",
    "Timeouts.total": "Seconds for a whole answer that is not streamed; 0: no limit.",
    "Timeouts.connect": "Seconds to connect; 0: no limit.",
    "Timeouts.read": "Seconds of silence between two pieces; as `total` if left out, 0: no limit.",
    "RetryPolicy.attempts": "How often a request is sent at most.",
    "RetryPolicy.first": "Seconds before the second attempt.",
    "RetryPolicy.factor": "By how much each further wait is longer.",
    "RetryPolicy.longest": "The longest wait. A provider that asks for more is not waited for.",
    "ModelEntry.id": "Our name for the model.",
    "ModelEntry.provider": "Who is asked for it.",
    "ModelEntry.model": "Its name there, if it is another.",
    "ModelEntry.aliases": "More names for it.",
    "ModelEntry.tags": "Words to choose models by, such as `stable`.",
    "ModelEntry.capabilities": "What it can do, such as `vision`.",
    "ModelEntry.toolCalling": "Whether it can be trusted to call tools when it must.",
    "ModelEntry.presets": "Compatibility presets that it needs.",
    "ModelEntry.fallbacks": "Models to ask when it fails, in their order.",
    "ModelEntry.contextTokens": "How much it can read.",
    "ModelEntry.prices": "What its tokens cost.",
    "Prices.input": "Dollars per million tokens read.",
    "Prices.output": "Dollars per million tokens written.",
    "Prices.cached": "Dollars per million tokens read from a cache; as `input` if left out.",
    "Settings.systemPrompt": "Counted in the metrics of the context; not sent anywhere.",
    "Settings.trust": "How far models are trusted with tools.",
    "TrustSettings.file": "What `groundwire eval trust` wrote; relative to the folder of this file. Empty: nobody judges models.",
    "TrustSettings.keyEnv": "The environment variable that holds the key of its signature.",
    "TrustSettings.unknown": "How far models and tools are trusted that no card names.",
    "TrustSettings.enforced": "What becomes of a run that must call tools, where its model is not reliable.",
    "StoreSettings.url": "`memory://`, `sqlite:///path`, `postgresql://…`; with `?durability=process` or `?durability=power`.",
    "AuditSettings.checkpoint": "The file in which heads of the chain are noted; relative to the folder of this file. Empty: none.",
    "AuditSettings.keyEnv": "The environment variable that holds the HMAC key. Without a value there: no key.",
    "LedgerTimes.leaseSeconds": "How long a reservation lives without being renewed.",
    "LedgerTimes.waitSeconds": "How long a call waits for an equal one that is in flight.",
    "LedgerTimes.confirmationSeconds": "How long a question to a person, and its answer, are good for.",
    "Profile.allow": "Names or globs of the tools that may be used. Left out: all of them.",
    "Profile.deny": "Names or globs of those that may not. Wins over `allow`.",
    "Profile.limits": "Limits under this profile.",
    "Profile.maxRefusals": "After so many refused calls in a row a model gets no more calls in this turn.",
    "PolicyRule.tools": "Names or globs, over tool ids and wire names. `*` and `?` are wildcards, nothing else is.",
    "PolicyRule.modes": "`text`, `voice`; empty: both.",
    "PolicyRule.profiles": "Names of profiles; empty: all, and none.",
    "PolicyRule.limits": "The limits for them.",
    "Overrides.softMs": "A call that takes longer gets a warning.",
    "Overrides.hardMs": "A call that takes longer is ended.",
    "Overrides.maxArgsBytes": "The size of the argument text.",
    "Overrides.maxOutputBytes": "The size of the result as JSON, with the details and intents of an envelope.",
    "Overrides.confirm": "Whether a person must agree.",
    "Overrides.grounding": "What happens when evidence is missing.",
    "Overrides.repeatLimit": "The number of the identical call that is refused.",
    "Overrides.emptyLimit": "How many empty results a tool may give in a turn.",
    "Overrides.budget": "More budgets, or others of the same name.",
    "Overrides.gates": "More gates.",
    "Budget.name": "Budgets of one name share one count.",
    "Budget.by": "`turn`, `session`, `request`, or the name of an argument.",
    "Budget.max": "How much.",
    "Budget.unit": "What is counted.",
    "Budget.category": "Count only tools of this category.",
    "Gate.flag": "The flag that must be on.",
    "Gate.answer": "What a closed gate answers, instead of refusing.",
}

ENVIRONMENT = {
    "GROUNDWIRE_STORE": "The store's URL, instead of `[store] url`.",
    "DATABASE_URL": "The same, where `GROUNDWIRE_STORE` is not set.",
    "OPENAI_API_KEY": "The key for OpenAI. With `OPENAI_BASE_URL` alone any key will do.",
    "OPENAI_BASE_URL": "Another server that speaks OpenAI's API, with its `/v1`.",
    "ANTHROPIC_API_KEY": "The key for Anthropic.",
    "ANTHROPIC_BASE_URL": "Another server that speaks Anthropic's API, without `/v1`.",
    "GEMINI_API_KEY": "The key for Gemini.",
    "GOOGLE_API_KEY": "The same, where `GEMINI_API_KEY` is not set.",
    "GEMINI_BASE_URL": "Another server that speaks Gemini's API, without `/v1beta`.",
    "OPENROUTER_API_KEY": "The key for OpenRouter.",
    "OPENROUTER_BASE_URL": "OpenRouter's address without the prefix, such as one that ends in `/api`.",
    "OPENROUTER_API_PREFIX": "What stands between that address and the endpoint: `/v1`, or nothing if it ends so.",
    "OPENROUTER_CLIENT_TIMEOUT": "Seconds for a whole request, 120 by default; 0 switches it off.",
    "OPENROUTER_OPEN_TIMEOUT": "Seconds to connect, 10 by default; 0 switches it off.",
    "OPENROUTER_READ_TIMEOUT": "Seconds of silence that are borne, as the whole by default; 0 switches it off.",
    "GROUNDWIRE_DEFAULT_PROVIDER": "The default provider, instead of `defaultProvider`.",
    "GROUNDWIRE_PORT": "The port of `groundwire serve`.",
    "GROUNDWIRE_MASTER_KEY": "A [key](../guides/keys.md) to the server that no store holds: an admin of the tenant `default`.",
    "GROUNDWIRE_BRAIN_URL": "Where [signals](../guides/supplier.md#signals) of supplier negotiations go.",
    "GROUNDWIRE_BRAIN_SECRET": "The keys that they are signed with, and that `groundwire app supplier brain` knows.",
    "GROUNDWIRE_BRAIN_ALLOW": "Networks that they may go to although they are not public, such as `127.0.0.0/8`.",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "Where [spans](../guides/telemetry.md) are sent; telemetry is off without it or the next two.",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "The same, for spans only.",
    "OTEL_TRACES_EXPORTER": "`otlp`, `console`, or `none` for no telemetry. The SDK's other variables hold too.",
    "OTEL_SDK_DISABLED": "`true` switches telemetry off.",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "`true` also tells declarations of tools, arguments and results.",
    "NO_COLOR": "No colours on the command line.",
    "SOURCE_DATE_EPOCH": "The build's timestamp in the artifact, for builds that can be repeated.",
}

EXAMPLE = """
[store]
url = "sqlite:///groundwire.db"

[audit]
checkpoint = "audit.checkpoint"

[flags]
BOOKING_OPEN = true

[profiles.guest]
allow = ["find_*"]
limits = { budget = [{ name = "calls", max = 4 }] }

[[policies]]
tools = ["send_*"]
limits = { confirm = true, hardMs = 5000 }
"""


def generate() -> str:
    names = [f"{kind.__name__}.{field.encode_name}" for _, kind, _ in TABLES for field in msgspec.structs.fields(kind)]
    explain(names, MEANINGS, "settings")
    explain(_variables(), ENVIRONMENT, "environment variables")
    parts: list[str] = []
    for heading, kind, text in TABLES:
        rows = table(("setting", "type", "default", "meaning"), _rows(kind))
        parts.append(f"### {heading if heading == 'At the top' else code(heading)}\n\n{text}\n\n{rows}")
    return page(
        "Settings",
        "Every setting of `groundwire.toml`, and the environment variables. Everything has a default, and the file may be "
        "absent. Unknown names are errors.",
        fenced("toml", EXAMPLE),
        "In Python: `load_settings()` reads `groundwire.toml` in the working folder, `load_settings(path)` another file, and "
        "`Runtime(registry, settings.store.url, settings=settings)` uses it. `groundwire.assembly.settings_schema()` gives "
        "the JSON Schema of the file.",
        "## groundwire.toml",
        *parts,
        "### `profile`",
        "The value of `profile`: members of the dialect's profile. What is left out stays as it is known of the model.",
        table(("dialect", "knob", "type", "default", "meaning"), knob_rows()),
        "## Environment",
        table(
            ("variable", "meaning"),
            [
                *((code(name), meaning) for name, meaning in ENVIRONMENT.items()),
                (
                    code(AuditSettings().key_env),
                    "The HMAC key of the audit chain; `[audit] keyEnv` can name another variable.",
                ),
                (
                    code(TrustSettings().key_env),
                    "The HMAC key of [trust cards](../guides/evals.md#trust-cards); `[trust] keyEnv` can name another variable.",
                ),
                ("a flag's name", "Whether a [gate](../guides/policies.md#gates) is open: `1`, `true`, `yes` or `on`."),
            ],
        ),
        "The command line also reads `.env` in the working folder, as lines of `NAME=value`. Variables that are already set "
        "keep their value.",
    )


def _rows(kind: type[msgspec.Struct]) -> Iterator[tuple[str, ...]]:
    for field in msgspec.structs.fields(kind):
        meaning = MEANINGS[f"{kind.__name__}.{field.encode_name}"]
        yield code(field.encode_name), _type(field.type), show_default(field), meaning


def _type(annotation: Any) -> str:
    """The type, with our own tables under the names that they have in the file."""
    shown = show_type(annotation)
    for heading, kind, _ in TABLES:
        shown = re.sub(rf"\b{kind.__name__}\b", code(heading), shown)
    return shown


def _variables() -> set[str]:
    """The variables that the code reads by a fixed name."""
    source = Path(groundwire.__file__).parent
    pattern = re.compile(r'environ(?:\.get\(|\[)\s*"([A-Z_]+)"|environ, "([A-Z]+_[A-Z_]+)"')
    texts = [path.read_text(encoding="utf-8") for path in source.rglob("*.py")]
    found = {first or second for text in texts for first, second in pattern.findall(text)}
    return found | {
        f"{vendor}_{what}" for vendor in ("OPENAI", "ANTHROPIC", "GEMINI") for what in ("API_KEY", "BASE_URL")
    }
