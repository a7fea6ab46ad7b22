"""`groundwire keys`: who may use a server that works with this store."""

from typing import TYPE_CHECKING, Any, cast

import click

from groundwire.cli.options import (
    MOST_ROWS,
    TEXT,
    Duration,
    global_options,
    json_option,
    limit_option,
    os_user,
    tenant_option,
)
from groundwire.cli.output import note, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.assembly import Runtime
    from groundwire.contracts.keys import ApiKey, KeyLimit, Unit, Window


class Limit(click.ParamType):
    """So much of something per window, such as 60/minute or 10/30s."""

    name = "limit"
    _WINDOWS = ("minute", "hour", "day", "month")

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "KeyLimit":
        from groundwire.contracts.errors import ConfigError
        from groundwire.contracts.keys import KeyLimit

        amount, _, window = str(value).partition("/")
        try:
            number = float(amount) if self._unit == "money" else int(amount)
            each = window if window in self._WINDOWS else int(Duration().convert(window, param, ctx))
            return KeyLimit(self._unit, number, cast("Window", each))
        except (ValueError, OverflowError, ConfigError, click.BadParameter):
            self.fail(f"{value!r} is no limit. Write 60/minute, 1000/hour, 20/day, 5/month or 10/30s.", param, ctx)


def _many(option: str, name: str, explanation: str, **details: Any) -> Any:
    return click.option(option, name, multiple=True, help=f"{explanation} Repeatable.", **details)


@click.group()
def keys() -> None:
    """Make and revoke keys to the server."""


@keys.command("create")
@click.option("--name", metavar="TEXT", type=TEXT, default="", help="Shown in lists, and recorded as who decided.")
@tenant_option
@_many(
    "--scope",
    "scopes",
    "What the key may do.",
    type=click.Choice(("models", "tools", "view", "decide", "api", "admin")),
    default=("models", "tools"),
    show_default=True,
)
@_many("--model", "models", "Only these models.", type=TEXT, metavar="GLOB")
@_many("--tool", "tools", "Only these tools.", type=TEXT, metavar="GLOB")
@_many("--default-tool", "default_tools", "Offered where a request names no tools.", type=TEXT, metavar="GLOB")
@_many("--requests", "requests", "At most so many, such as 60/minute.", type=Limit("requests"), metavar="N/WINDOW")
@_many("--tokens", "tokens", "Such as 1000000/day.", type=Limit("tokens"), metavar="N/WINDOW")
@_many("--money", "money", "In dollars, such as 20/month.", type=Limit("money"), metavar="N/WINDOW")
@click.option(
    "--approvals",
    type=click.Choice(["answer", "pause"]),
    help="What calls of server tools do that need an approval. Default: as the server's settings say.",
)
@click.option("--expires", type=Duration(), metavar="DURATION", help="How long it is good, such as 90d.")
@json_option
@global_options()
def create(*, as_json: bool, **terms: Any) -> None:
    """Make a key and print it. It is shown this once."""
    from groundwire.cli.opening import NO_STORE, put, read_settings
    from groundwire.serving.keys import new_secret

    settings = read_settings()
    if settings.store.url == NO_STORE:
        raise click.UsageError("A key in memory would be gone when this command ends. Name another store.")
    secret = new_secret().reveal()

    async def work(runtime: "Runtime") -> "ApiKey":
        key = _make(runtime, secret, terms)
        await runtime.create_key(key, by=os_user())
        return key

    key = put(work, settings=settings)
    if as_json:
        print_json({"secret": secret, **_show(key)})
        return
    print_text(secret)
    note(f"That is {key.key_id} of the tenant {key.tenant}. Keep it now: it cannot be shown again.")


def _make(runtime: "Runtime", secret: str, terms: dict[str, Any]) -> "ApiKey":
    from groundwire.contracts.keys import EVERYTHING, ApiKey
    from groundwire.serving.keys import digest_of, shown_part

    now = runtime.clock.now()
    return ApiKey(
        key_id=runtime.ids.new("key"),
        tenant=terms["tenant"],
        name=terms["name"],
        digest=digest_of(secret),
        prefix=shown_part(secret),
        scopes=terms["scopes"],
        models=terms["models"] or EVERYTHING,
        tools=terms["tools"] or EVERYTHING,
        default_tools=terms["default_tools"],
        limits=(*terms["requests"], *terms["tokens"], *terms["money"]),
        created_at=now,
        expires_at=None if terms["expires"] is None else now + terms["expires"],
        approvals=terms["approvals"] or "",
    )


@keys.command("list")
@limit_option
@tenant_option
@json_option
@global_options()
def list_keys(limit: int, tenant: str, *, as_json: bool) -> None:
    """List keys, the newest first, with what is used of their limits."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.contracts.texts import plain

    async def work(runtime: "Runtime") -> list[tuple["ApiKey", str, list[float]]]:
        now = runtime.clock.now()
        found = await runtime.store.list_keys(tenant, limit=limit)
        return [(key, _state(key, now), await runtime.store.key_usage(key, now=now)) for key in found]

    found = read(work)
    if as_json:
        print_json([{**_show(key, used), "state": state} for key, state, used in found])
        return
    rows = [
        (
            key.key_id,
            f"{key.prefix}…",
            key.name or "-",
            state,
            ", ".join(key.scopes),
            "; ".join(f"{plain(use)} of {limit}" for limit, use in zip(key.limits, used, strict=True)) or "-",
            show_time(key.created_at),
            show_time(key.expires_at),
        )
        for key, state, used in found
    ]
    headers = ("ID", "KEY", "NAME", "STATE", "SCOPES", "USED", "CREATED", "EXPIRES")
    print_table(headers, rows, empty="There are no keys.")


@keys.command("revoke")
@click.argument("name", type=TEXT, metavar="ID|PREFIX")
@tenant_option
@global_options()
def revoke(name: str, tenant: str) -> None:
    """Revoke a key by id or prefix. It is refused from then on, by every process."""
    from groundwire.cli.opening import change
    from groundwire.contracts.errors import AlreadyDecided, NotFound
    from groundwire.serving.keys import SECRET_PREFIX, shown_part

    # Who has found a key somewhere pastes all of it; no more than is shown anyway is repeated.
    wanted = shown_part(name) if name.startswith(SECRET_PREFIX) else name

    async def work(runtime: "Runtime") -> str:
        named = [
            key for key in await runtime.store.list_keys(tenant, limit=MOST_ROWS) if wanted in {key.key_id, key.prefix}
        ]
        found = [key for key in named if key.revoked_at is None]
        if named and not found:
            raise AlreadyDecided(f"{named[0].key_id} is already revoked")
        if len(found) != 1 or not await runtime.revoke_key(found[0], by=os_user()):
            count = "no key" if not found else "more than one key"
            raise NotFound(f"{count} of the tenant {tenant} is {wanted}", hint="groundwire keys list")
        return found[0].key_id

    print_text(f"{change(work)} is revoked.")


def _show(key: "ApiKey", used: list[float] | None = None) -> dict[str, Any]:
    """All fields of a key but the digest of its secret."""
    from groundwire.runtime.showing import show_record

    fields = show_record(key)
    del fields["digest"]
    uses = used or [0.0] * len(key.limits)
    fields["limits"] = [
        {"unit": limit.unit, "max": limit.max, "window": limit.window, "used": use}
        for limit, use in zip(key.limits, uses, strict=True)
    ]
    return fields


def _state(key: "ApiKey", now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "active"
