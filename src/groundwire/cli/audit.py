"""`groundwire audit`: the record of every call, and the proof that nobody touched it."""

import sys
import time
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import Duration, global_options, json_option, limit_option, os_user, tenant_option
from groundwire.cli.output import clean, note, plural, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.assembly import Settings
    from groundwire.contracts.audit import ChainReport

CONFIGURED = ""
"""What a bare `--checkpoint` means."""


@click.group()
def audit() -> None:
    """List, verify and export the record of every call."""


@audit.command("list")
@limit_option
@tenant_option
@json_option
@global_options()
def list_records(limit: int, tenant: str, *, as_json: bool) -> None:
    """List records, the newest first."""
    from groundwire.cli.opening import read
    from groundwire.runtime.showing import show_audit

    found = read(lambda runtime: runtime.store.list_audit(tenant, limit=limit))
    if as_json:
        print_json([show_audit(record) for record in found])
        return
    rows = [
        (
            str(record.seq),
            record.entry.created_at,
            record.entry.kind,
            record.entry.tool_name or "-",
            "ok" if record.entry.success else (record.entry.error or "failed").partition(":")[0],
            record.entry.decision or "-",
            record.entry.approver or record.entry.actor or "-",
            record.hash[:12],
        )
        for record in found
    ]
    headers = ("NUMBER", "TIME", "KIND", "TOOL", "RESULT", "DECISION", "BY", "HASH")
    print_table(headers, rows, empty="There are no records.")


@audit.command("verify")
@click.option(
    "--checkpoint",
    metavar="[PATH]",
    is_flag=False,
    flag_value=CONFIGURED,
    default=None,
    help="Compare with the heads noted in the checkpoint file: the configured one, or PATH.",
)
@json_option
@global_options()
@click.pass_context
def verify(context: click.Context, checkpoint: str | None, *, as_json: bool) -> None:
    """Read the whole chain and name every record that was changed, removed or moved. Fails if there is one."""
    from groundwire.cli.opening import is_missing, read, read_settings
    from groundwire.runtime.showing import show_report

    settings = _with_checkpoint(read_settings(), checkpoint)
    with_checkpoints = checkpoint is not None
    missing = is_missing(settings.store.url)
    if missing and not with_checkpoints:
        _refuse_missing_store(settings)
    report = read(lambda runtime: runtime.verify_audit(with_checkpoints=with_checkpoints), settings=settings)
    if with_checkpoints and report.checkpoint == "none" and report.records:
        _refuse_empty_checkpoint(settings)
    if missing and report.ok:
        _refuse_missing_store(settings)
    if as_json:
        print_json(show_report(report))
    else:
        _show(report, with_checkpoints=with_checkpoints)
    if not report.ok:
        context.exit(1)


@audit.command("export")
@click.option("--output", metavar="FILE", help="Write there, whole or not at all, instead of to stdout.")
@global_options()
@click.pass_context
def export(context: click.Context, output: str | None) -> None:
    """Write all records as JSON lines, the oldest first."""
    from groundwire.cli.exporting import export_records

    exported, unreadable = export_records(output)
    if output is not None or sys.stdout is None or not sys.stdout.isatty():
        note(f"Exported {plural(exported, 'record')}.")
    if unreadable:
        note(f"{plural(unreadable, 'record')} cannot be read; groundwire audit verify names them.")
        context.exit(1)


@audit.command("prune")
@click.option("--older-than", type=Duration(), required=True, metavar="AGE", help="Such as 90d, 12h, 2w.")
@global_options()
def prune(older_than: float) -> None:
    """Remove old records for good. The chain records that, and stays provable from there on."""
    from groundwire.cli.opening import change
    from groundwire.cli.records import show_time

    removed = change(lambda runtime: runtime.prune_audit(older_than_seconds=older_than, by=os_user()))
    print_text(f"Removed {plural(removed, 'record')} from before {show_time(time.time() - older_than)}.")


def _with_checkpoint(settings: "Settings", checkpoint: str | None) -> "Settings":
    """The settings with the checkpoint file that was named, if one was."""
    if not checkpoint:
        return settings
    import msgspec

    return msgspec.structs.replace(settings, audit=msgspec.structs.replace(settings.audit, checkpoint=checkpoint))


def _refuse_missing_store(settings: "Settings") -> None:
    from groundwire.contracts.errors import StoreError

    raise StoreError(
        f"there is no store at {settings.store.url}, so there is nothing to verify",
        hint="run this where the store is, or name it with --store",
    )


def _refuse_empty_checkpoint(settings: "Settings") -> None:
    from groundwire.contracts.errors import StoreError

    raise StoreError(
        f"the checkpoint file {settings.audit.checkpoint} is missing or empty, so it proves nothing",
        hint="restore it from a copy, or verify without --checkpoint",
    )


def _show(report: "ChainReport", *, with_checkpoints: bool) -> None:
    key = "with a key" if report.keyed else "without a key"
    if not report.ok:
        _show_problems(report, key)
    elif not report.records:
        print_text("There are no records to verify.")
    else:
        verified = f"The chain is whole: {plural(report.records, 'record')}, chained {key}."
        print_text(click.style(verified, fg="green"))
        print_text(f"head: record {report.head.seq}, {report.head.hash}")
    if not with_checkpoints:
        print_text("Without a checkpoint, a cut or wholly rewritten tail cannot be excluded.")
    elif report.ok:
        noted = "It holds every head that the checkpoint file noted." if report.records else "No checkpoint was noted."
        print_text(noted)


def _show_problems(report: "ChainReport", key: str) -> None:
    found = plural(len(report.problems), "problem")
    print_text(click.style(f"The chain is broken: {found} in {plural(report.records, 'record')}.", fg="red"))
    for problem in report.problems:
        name = f" ({clean(problem.record_id)})" if problem.record_id else ""
        print_text(f"record {problem.seq}{name}: {click.style(problem.kind, fg='red')}: {clean(problem.message)}")
    if report.records and sum(problem.kind == "changed" for problem in report.problems) >= report.records:
        note(f"Every record is blamed. They were checked {key}; were they written so?")
