"""`groundwire app supplier brain`: the other end of the signals, on a port, until it is stopped."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import global_options
from groundwire.cli.output import note, print_text
from groundwire.extras import needs_extra

if TYPE_CHECKING:
    from groundwire.assembly import Settings
    from groundwire.serving import WebhookKey
    from groundwire.serving.application import Application

SECRET_VARIABLE = "GROUNDWIRE_BRAIN_SECRET"  # noqa: S105 - where a secret stands is none
PORT = 8743


@click.command("brain")
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option(
    "--secret",
    "secrets",
    metavar="whsec_…",
    multiple=True,
    help=f"A key that signals are signed with; several while keys are changed. Better in {SECRET_VARIABLE} or a file.",
)
@click.option("--secret-file", metavar="FILE", type=click.Path(path_type=Path), help="Such keys, one on each line.")
@click.option("--new-key", is_flag=True, help="Print a new key and do nothing else; a file of keys begins with it.")
@global_options()
def app_supplier_brain(
    host: str, port: int, secrets: tuple[str, ...], secret_file: Path | None, *, new_key: bool
) -> None:
    """Serve a brain that takes signals, checks them and lists them.

    POST /signals takes them, signed as Standard Webhooks has it; GET /api/signals lists them, and /openapi.json describes
    it all. What came is kept in the store. Without a key it makes one and prints it.
    """
    import asyncio

    import msgspec

    with needs_extra("gateway", "The brain"):
        from groundwire.serving.running import ServerConfiguration, free_port, run_server, url_of
    from groundwire.cli.listening import check_free
    from groundwire.cli.opening import read_settings
    from groundwire.serving import check_service, new_webhook_key

    if new_key:
        print_text(new_webhook_key())
        return
    settings = read_settings()
    given = given_secrets(secrets, secret_file)
    keys = to_keys(given)
    check_free(host, port)
    if not keys:
        made = new_webhook_key()
        note(f"No key was given, so this is a new one: {made}")
        keys = to_keys([made])
    server = msgspec.structs.replace(settings.server, host=host, port=port or free_port(host), workers=1)
    settings = msgspec.structs.replace(settings, server=server)
    asyncio.run(check_service(settings))
    note(f"The brain takes signals at {url_of(host, server.port)}/signals")
    run_server(ServerConfiguration(server, partial(_make, settings, keys)), notify=note)


def given_secrets(secrets: Sequence[str], file: Path | None) -> list[str]:
    """What the command line says; else what the environment does."""
    named = [*secrets, *(_read_secrets(file) if file is not None else ())]
    return named or os.environ.get(SECRET_VARIABLE, "").split()


def _read_secrets(file: Path) -> list[str]:
    from groundwire.contracts.errors import ConfigError

    hint = f"groundwire app supplier brain --new-key > {file}"
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"The file of keys {file} cannot be read: {error.strerror}.", hint=hint) from None
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise ConfigError(f"The file of keys {file} holds none.", hint=hint)
    return found


def to_keys(texts: Sequence[str]) -> "list[WebhookKey]":
    from groundwire.serving import WebhookKey

    return [WebhookKey(text) for text in texts]


def _make(settings: "Settings", keys: "Sequence[WebhookKey]") -> "Application":
    from groundwire.apps.supplier.brain.endpoints import ABOUT, open_brain
    from groundwire.serving import service_application

    return service_application(settings, partial(open_brain, keys=keys), about=ABOUT)
