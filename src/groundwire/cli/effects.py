"""`groundwire effects`: what actions did, and a person's word where nobody knows."""

from typing import Any

import click

from groundwire.cli.options import (
    TEXT,
    global_options,
    json_option,
    limit_option,
    note_option,
    os_user,
    tenant_option,
)
from groundwire.cli.output import print_json, print_table, print_text

STATUSES = ("reserved", "settled", "unknown")


@click.group()
def effects() -> None:
    """List side effects and resolve unknown outcomes."""


@effects.command("list")
@click.option("--status", type=click.Choice([*STATUSES, "all"]), default="all", show_default=True)
@limit_option
@tenant_option
@json_option
@global_options()
def list_effects(status: str, limit: int, tenant: str, *, as_json: bool) -> None:
    """List the effects of actions. Those that are `unknown` wait for a decision."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.contracts.records import EffectStatus
    from groundwire.runtime.showing import show_record

    wanted = None if status == "all" else EffectStatus(status)
    found = read(lambda runtime: runtime.effects(status=wanted, tenant=tenant, limit=limit))
    if as_json:
        print_json([show_record(effect) for effect in found])
        return
    rows = [
        (
            effect.effect_id,
            effect.status.value,
            effect.tool,
            effect.session_id or "-",
            show_time(effect.updated_at),
            effect.decided_by or "-",
            effect.raw,
        )
        for effect in found
    ]
    headers = ("ID", "STATUS", "TOOL", "SESSION", "CHANGED", "DECIDED BY", "ARGUMENTS")
    print_table(headers, rows, empty="There are no effects.")


@effects.command("reconcile")
@click.argument("effect_id", type=TEXT, metavar="ID")
@click.option("--happened/--not-happened", default=None, help="Whether the action had its effect.")
@click.option("--result", type=TEXT, metavar="JSON", help="With --happened: what the call's data is from now on.")
@note_option
@tenant_option
@global_options()
def reconcile(
    effect_id: str,
    *,
    happened: bool | None,
    result: str | None,
    note: str,
    tenant: str,
) -> None:
    """Resolve an unknown outcome: it happened and is settled, or it did not and may run again."""
    if happened is None:
        raise click.UsageError("Say --happened or --not-happened.")
    if result is not None and not happened:
        raise click.UsageError("--result belongs to --happened: what did not happen has no result.")
    data = None if result is None else _parse(result)
    from groundwire.cli.opening import change

    by = os_user()
    change(lambda runtime: runtime.reconcile(effect_id, happened=happened, by=by, data=data, note=note, tenant=tenant))
    print_text(f"{effect_id} is settled." if happened else f"{effect_id} is released: the same call may run again.")


def _parse(result: str) -> Any:
    from groundwire.contracts.canonical import parse_json
    from groundwire.contracts.errors import InvalidJson

    try:
        return parse_json(result)
    except InvalidJson as error:
        raise click.BadParameter(f"not JSON: {error.message}", param_hint="--result") from None
