"""`groundwire app supplier signals`: what was raised, whether it has arrived, and addresses that want no more."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.options import TEXT, global_options, json_option, limit_option, tenant_option
from groundwire.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.apps.supplier.signals.tables import SignalRow, SignalTables
    from groundwire.assembly import Runtime


@click.group("signals")
def app_supplier_signals() -> None:
    """Follow signals on their way to the brain."""


@app_supplier_signals.command("list")
@click.option("--session", metavar="ID", type=TEXT, help="Only those of this conversation.")
@click.option("--state", type=click.Choice(("queued", "delivered", "dead", "all")), default="all", show_default=True)
@limit_option
@tenant_option
@json_option
@global_options()
def list_signals(session: str | None, state: str, limit: int, tenant: str, *, as_json: bool) -> None:
    """List signals, the newest first. `groundwire jobs retry` sends a dead one again."""
    from groundwire.apps.supplier.signals.endpoints import show_signal
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time

    async def work(runtime: "Runtime") -> "list[SignalRow]":
        tables = await _tables(runtime)
        wanted = None if state == "all" else state
        return await tables.list_newest(tenant, session_id=session, state=wanted, limit=limit)

    found = read(work)
    if as_json:
        print_json([show_signal(row) for row in found])
        return
    rows = [
        (row.signal_id, row.session_id, row.state, str(row.attempts), row.error or "-", show_time(row.created / 1000))
        for row in found
    ]
    print_table(("ID", "SESSION", "STATE", "ATTEMPTS", "ERROR", "RAISED"), rows, empty="There are no signals.")


@app_supplier_signals.command("disabled")
@tenant_option
@json_option
@global_options()
def list_disabled(tenant: str, *, as_json: bool) -> None:
    """List addresses that have said they want no more signals."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time

    async def work(runtime: "Runtime") -> dict[str, int]:
        return await (await _tables(runtime)).disabled(tenant)

    found = read(work)
    if as_json:
        print_json([{"url": url, "disabledAt": show_time(since / 1000)} for url, since in found.items()])
        return
    rows = [(url, show_time(since / 1000)) for url, since in found.items()]
    print_table(("ADDRESS", "SINCE"), rows, empty="No address is disabled.")


@app_supplier_signals.command("enable")
@click.argument("url", metavar="URL", type=TEXT)
@tenant_option
@global_options()
def enable(url: str, tenant: str) -> None:
    """Let signals go to an address again that had wanted no more."""
    from groundwire.cli.opening import change
    from groundwire.contracts.errors import NotFound

    async def work(runtime: "Runtime") -> bool:
        return await (await _tables(runtime)).enable(tenant, url)

    if not change(work):
        raise NotFound(f"{url} is not disabled.", hint="groundwire app supplier signals disabled")
    print_text(f"Signals go to {url} again. Dead ones stay dead until `groundwire jobs retry`.")


async def _tables(runtime: "Runtime") -> "SignalTables":
    from groundwire.apps.supplier.signals.tables import SignalTables

    tables = SignalTables(runtime.database)
    await tables.open()
    return tables
