"""`groundwire calls`: every call that ended, refused ones too."""

import click

from groundwire.cli.options import TEXT, global_options, json_option, limit_option, tenant_option
from groundwire.cli.output import print_json, print_table


@click.group()
def calls() -> None:
    """List calls."""


@calls.command("list")
@click.option("--session", type=TEXT, metavar="ID", help="Only the calls of this conversation.")
@limit_option
@tenant_option
@json_option
@global_options()
def list_calls(session: str | None, limit: int, tenant: str, *, as_json: bool) -> None:
    """List calls, the newest first."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.runtime.showing import show_record

    found = read(lambda runtime: runtime.store.list_calls(tenant, session_id=session, limit=limit))
    if as_json:
        print_json([show_record(record) for record in found])
        return
    rows = [
        (
            show_time(record.created_at),
            record.call_id,
            record.session_id or "-",
            record.tool,
            "ok" if record.ok else record.error_type,
            f"{record.duration_ms:.1f}",
            record.raw,
        )
        for record in found
    ]
    headers = ("TIME", "CALL", "SESSION", "TOOL", "RESULT", "MS", "ARGUMENTS")
    print_table(headers, rows, empty="There are no calls.")
