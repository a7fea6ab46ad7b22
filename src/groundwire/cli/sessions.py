"""`groundwire sessions`: the conversations that the store knows."""

import click

from groundwire.cli.options import global_options, json_option, limit_option, tenant_option
from groundwire.cli.output import print_json, print_table


@click.group()
def sessions() -> None:
    """List conversations."""


@sessions.command("list")
@limit_option
@tenant_option
@json_option
@global_options()
def list_sessions(limit: int, tenant: str, *, as_json: bool) -> None:
    """List sessions, the newest first."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.runtime.showing import show_record

    found = read(lambda runtime: runtime.store.list_sessions(tenant, limit=limit))
    if as_json:
        print_json([show_record(session) for session in found])
        return
    rows = [
        (
            session.session_id,
            session.status,
            session.mode,
            str(session.turns),
            str(session.calls),
            session.registry_version,
            show_time(session.updated_at),
        )
        for session in found
    ]
    headers = ("SESSION", "STATUS", "MODE", "TURNS", "CALLS", "REGISTRY", "CHANGED")
    print_table(headers, rows, empty="There are no sessions.")
