"""`groundwire app supplier serve`: the negotiation as a service, with its worker, until it is stopped."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.app_supplier_brain import SECRET_VARIABLE, given_secrets, to_keys
from groundwire.cli.options import Number, global_options
from groundwire.cli.output import note
from groundwire.contracts.redaction import redact
from groundwire.extras import check_extra, needs_extra

if TYPE_CHECKING:
    from groundwire.apps.supplier.agents import Roles
    from groundwire.apps.supplier.opening import SupplierOptions
    from groundwire.assembly import Runtime, Settings
    from groundwire.serving import Endpoint
    from groundwire.serving.application import Application

PORT = 8744


@click.command("serve")
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--bot", metavar="MODEL", help="Who talks with suppliers (gemini-pro; rules without any key).")
@click.option("--summary", metavar="MODEL", help="Who reads what was said (gemini-pro; rules without any key).")
@click.option(
    "--grounding",
    type=click.Choice(["strict", "report"]),
    default="strict",
    show_default=True,
    help="Whether captures that no supplier message bears out are removed, or kept and marked.",
)
@click.option(
    "--silence-hours",
    metavar="H",
    type=Number(0, 24 * 365, min_open=True),
    default=24.0,
    show_default=True,
    help="After so long without an answer a conversation ends as no_reply.",
)
@click.option("--working-hours", is_flag=True, help="Count Chinese office hours only as silence.")
@click.option("--brain", metavar="URL", help="Where signals are sent, signed; see `groundwire app supplier brain`.")
@click.option(
    "--secret",
    "secrets",
    metavar="whsec_…",
    multiple=True,
    help=f"A key to sign signals with. Better in {SECRET_VARIABLE} or a file.",
)
@click.option("--secret-file", metavar="FILE", type=click.Path(path_type=Path), help="Such keys, one on each line.")
@click.option("--signal-log", metavar="FILE", help="Without a brain: a file that signals are appended to.")
@click.option(
    "--allow-network",
    "networks",
    metavar="CIDR",
    multiple=True,
    help="A private network that the brain may be in, such as 127.0.0.0/8.",
)
@global_options()
def app_supplier_serve(
    *,
    host: str,
    port: int,
    bot: str | None,
    summary: str | None,
    grounding: str,
    silence_hours: float,
    working_hours: bool,
    brain: str | None,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    signal_log: str | None,
    networks: tuple[str, ...],
) -> None:
    """Serve supplier negotiations over HTTP, and work on what is due: replies, silence, follow-ups, signals.

    /openapi.json describes it. Conversations are kept in the store, and go on where they were after any end.
    """
    import asyncio

    import msgspec

    with needs_extra("gateway", "The supplier service"):
        from groundwire.serving.running import ServerConfiguration, free_port, run_server, url_of
    check_extra("jobs", "The supplier service", "dbos")
    from groundwire.apps.supplier.agents import with_grounding
    from groundwire.apps.supplier.contracts import GroundingMode
    from groundwire.apps.supplier.negotiator import RULES
    from groundwire.apps.supplier.opening import SupplierOptions
    from groundwire.apps.supplier.signals.outbox import SignalEndpoint
    from groundwire.cli.listening import check_free
    from groundwire.cli.opening import check_models, read_settings
    from groundwire.serving import check_service

    keys = to_keys(given_secrets(secrets, secret_file))
    if brain is not None and not keys:
        raise click.UsageError(f"A brain needs a key: --secret-file, or {SECRET_VARIABLE} in the environment.")
    if brain is not None and signal_log is not None:
        raise click.UsageError("Signals go to a brain or into a log: give --brain or --signal-log.")
    if brain is None and (secrets or secret_file is not None):
        raise click.UsageError("A key signs what is sent to a brain: name it with --brain.")
    if networks and brain is None:
        raise click.UsageError("--allow-network says where a brain may be: name it with --brain.")
    settings = read_settings()
    options = SupplierOptions(
        roles=_roles(bot, summary, settings),
        grounding=GroundingMode(grounding),
        silence_hours=silence_hours,
        working_hours=working_hours,
        brain=SignalEndpoint(url=brain, keys=tuple(keys), allow=networks) if brain is not None else None,
        signal_log=signal_log or "",
    )
    if signal_log is not None:
        _check_log(Path(signal_log))
    settings = with_grounding(settings, options.grounding)
    asyncio.run(check_models(settings, [name for name in (bot, summary) if name not in (None, RULES)]))
    check_free(host, port)
    server = msgspec.structs.replace(settings.server, host=host, port=port or free_port(host), workers=1)
    settings = msgspec.structs.replace(settings, server=server)
    asyncio.run(check_service(settings))
    if options.roles.bot == RULES and bot is None:
        note("There is no key for any model, so rules answer in its place.")
    note(f"Negotiations at {url_of(host, server.port)}/api/supplier/conversations")
    if brain is not None:
        note(f"Signals go to {redact(brain)}")
    elif signal_log is not None:
        note(f"Signals are appended to {signal_log}")
    else:
        note("Signals stay with their conversations: neither --brain nor --signal-log says where to send them.")
    run_server(ServerConfiguration(server, partial(_make, settings, options)), notify=note)


def _roles(bot: str | None, summary: str | None, settings: "Settings") -> "Roles":
    """As they were named; by rules where there is nobody to ask."""
    from groundwire.apps.supplier.agents import Roles
    from groundwire.apps.supplier.negotiator import RULES
    from groundwire.assembly import SIMULATED, list_providers

    alone = [info.name for info in list_providers(settings, os.environ)] == [SIMULATED]
    usual = Roles(bot=RULES, summary=RULES) if alone and not settings.simulator.script else Roles()
    named = bot or summary
    if named and RULES in (named, usual.bot):  # rules and models do not share a conversation
        usual = Roles(bot=named, summary=named)
    roles = Roles(bot=bot or usual.bot, summary=summary or usual.summary)
    if (roles.bot == RULES) != (roles.summary == RULES):
        raise click.UsageError("Rules play both roles or none: name --bot and --summary.")
    return roles


def _check_log(path: Path) -> None:
    from groundwire.contracts.errors import ConfigError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise ConfigError(f"Signals cannot be written to {path}: {error.strerror}.") from None


def _make(settings: "Settings", options: "SupplierOptions") -> "Application":
    from groundwire.apps.supplier.agents import supplier_registry
    from groundwire.apps.supplier.opening import ABOUT
    from groundwire.serving import service_application

    opening = partial(_open, settings, options)
    return service_application(settings, opening, about=ABOUT, registry=supplier_registry())


@asynccontextmanager
async def _open(
    settings: "Settings", options: "SupplierOptions", runtime: "Runtime"
) -> "AsyncIterator[Sequence[Endpoint]]":
    from groundwire.apps.supplier.negotiator import RULES, rules_models
    from groundwire.apps.supplier.opening import open_supplier
    from groundwire.assembly import open_models
    from groundwire.jobs import open_jobs

    models = rules_models(runtime.clock) if options.roles.bot == RULES else open_models(settings)
    try:
        jobs = open_jobs(settings.store.url)
        async with open_supplier(runtime, jobs, models, options) as (_, endpoints):
            yield endpoints
    finally:
        await models.close()
