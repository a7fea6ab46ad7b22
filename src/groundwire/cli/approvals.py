"""`groundwire approvals`: list approvals that calls have requested, and decide them."""

import time
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.options import (
    TEXT,
    global_options,
    json_option,
    limit_option,
    note_option,
    os_user,
    read_arguments,
    tenant_option,
)
from groundwire.cli.output import note, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.contracts.records import Confirmation

STATUSES = ("pending", "approved", "denied", "spent")


@click.group()
def approvals() -> None:
    """List approvals, approve or deny calls."""


@approvals.command("list")
@click.option("--status", type=click.Choice([*STATUSES, "all"]), default="pending", show_default=True)
@limit_option
@tenant_option
@json_option
@global_options()
def list_approvals(status: str, limit: int, tenant: str, *, as_json: bool) -> None:
    """List approvals that wait for a decision, or were decided."""
    from groundwire.cli.opening import read
    from groundwire.cli.records import show_time
    from groundwire.contracts.records import ConfirmationStatus
    from groundwire.runtime.showing import show_approval

    wanted = None if status == "all" else ConfirmationStatus(status)
    found = read(lambda runtime: runtime.approvals(status=wanted, tenant=tenant, limit=limit))
    if as_json:
        print_json([show_approval(item, now=time.time()) for item in found])
        return
    rows = [
        (
            item.confirmation_id,
            "expired" if _is_expired(item) else item.status.value,
            item.tool,
            item.session_id or "-",
            show_time(item.expires_at),
            _show_arguments(item.arguments),
        )
        for item in found
    ]
    empty = "Nothing waits for approval." if status == "pending" else "There are none."
    print_table(("ID", "STATUS", "TOOL", "SESSION", "EXPIRES", "ARGUMENTS"), rows, empty=empty)


@approvals.command("approve")
@click.argument("approval_id", type=TEXT, metavar="ID")
@note_option
@click.option("--arguments", type=TEXT, metavar="JSON", help="Approve the call with these arguments instead.")
@tenant_option
@global_options()
def approve(approval_id: str, note: str, arguments: str | None, tenant: str) -> None:
    """Approve a call: the same call then passes once. Recorded under your user name."""
    from groundwire.cli.opening import change

    edited, by = None if arguments is None else read_arguments(arguments), os_user()
    done = change(lambda runtime: runtime.approve(approval_id, by=by, note=note, arguments=edited, tenant=tenant))
    _confirm("Approved", done, by)


@approvals.command("deny")
@click.argument("approval_id", type=TEXT, metavar="ID")
@note_option
@tenant_option
@global_options()
def deny(approval_id: str, note: str, tenant: str) -> None:
    """Refuse a call. Recorded under your user name."""
    from groundwire.cli.opening import change

    by = os_user()
    done = change(lambda runtime: runtime.deny(approval_id, by=by, note=note, tenant=tenant))
    _confirm("Denied", done, by)


def _confirm(word: str, decided: "Confirmation", by: str) -> None:
    from groundwire.cli.output import clean
    from groundwire.cli.records import show_time

    print_text(clean(f"{word} {decided.confirmation_id} ({decided.tool}) by {by}."))
    if word == "Approved":
        note(f"The same call passes once until {show_time(decided.expires_at)}.")


def _is_expired(item: "Confirmation") -> bool:
    return item.status.value in ("pending", "approved") and item.expires_at <= time.time()


def _show_arguments(arguments: Any) -> str:
    import msgspec

    return msgspec.json.encode(arguments).decode()
