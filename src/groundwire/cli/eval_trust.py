"""`groundwire eval trust`: from reports of evaluations to the signed file that says how far models are trusted."""

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.options import Duration, global_options, json_option
from groundwire.cli.output import plural, print_json, print_table, print_text

if TYPE_CHECKING:
    from groundwire.contracts.trust import TrustFile
    from groundwire.evals.trust import TrustRule

TRUST_FILE = "trust.json"
_VALID = "90d"
_HELP = ("-h", "--help")


class _WritingGroup(click.Group):
    """What is no command of its own is the name of a report."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = not args or args[0] in self.commands or args[0] in _HELP
        return super().parse_args(ctx, args if is_named else ["write", *args])


@click.group("trust", cls=_WritingGroup, context_settings={"help_option_names": [*_HELP]})
def eval_trust() -> None:
    """Say how far models are trusted with which tools, by what evaluations found.

    `groundwire eval trust REPORT…` is short for `groundwire eval trust write REPORT…`.
    """


@eval_trust.command("write")
@click.argument("reports", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="REPORT…")
@click.option("-o", "--output", metavar="FILE", default=TRUST_FILE, show_default=True, help="Where to write.")
@click.option("--strategy", default="", help="Only trials of this strategy; else the worst one counts.")
@click.option("--valid", type=Duration(), default=_VALID, show_default=True, help="How long the file may be used.")
@click.option("--rule", "changes", multiple=True, metavar="NAME=VALUE", help="A threshold, such as minLow=0.95.")
@json_option
@global_options()
def write(
    reports: tuple[Path, ...], output: str, strategy: str, valid: float, changes: tuple[str, ...], *, as_json: bool
) -> None:
    """Make trust cards from REPORTs, folders that `groundwire eval` wrote, and sign them."""
    from groundwire.assembly import trust_key
    from groundwire.cli.opening import read_settings
    from groundwire.contracts.trust import seal
    from groundwire.evals.reports.folders import ReportFolder, write_file
    from groundwire.evals.trust import RunRecord, make_trust

    key = trust_key(read_settings().trust.key_env, os.environ)
    folders = [ReportFolder(report) for report in reports]
    records = [
        RunRecord(run_id=run.run_id, record=record)
        for folder, run in [(folder, folder.read_run()) for folder in folders]
        for record in folder.read_records()
    ]
    made = make_trust(records, now=time.time(), rule=_rule(changes), strategy=strategy, valid_seconds=valid)
    if not made.cards:
        raise click.UsageError("These reports have no scored trial that uses a tool, so nothing can be said.")
    write_file(Path(output), seal(made, key))
    _show(made, as_json=as_json)
    if not as_json:
        print_text(f"\nWrote {plural(len(made.cards), 'card')} to {output}, valid until {made.expires_at}.")


@eval_trust.command("verify")
@click.argument("file", type=click.Path(), default=TRUST_FILE)
@json_option
@global_options()
def verify(file: str, *, as_json: bool) -> None:
    """Check a file's signature and age, and show its cards. Fails where a runtime would refuse it."""
    from groundwire.assembly import read_trust, trust_key
    from groundwire.cli.opening import read_settings

    found = read_trust(file, trust_key(read_settings().trust.key_env, os.environ), now=time.time())
    _show(found, as_json=as_json)
    if not as_json:
        print_text(f"\n{file} is signed, and valid until {found.expires_at}.")


def _rule(changes: tuple[str, ...]) -> "TrustRule":
    from groundwire.contracts.shapes import read_as
    from groundwire.evals.trust import TrustRule

    values: dict[str, object] = {}
    for change in changes:
        name, found, value = change.partition("=")
        try:
            values[name] = float(value) if "." in value else int(value)
        except ValueError:
            found = ""
        if not found:
            raise click.BadParameter(f"{change!r} is not NAME=NUMBER.", param_hint="--rule")
    return read_as(TrustRule, values, "--rule")  # type: ignore[arg-type]


def _show(trusted: "TrustFile", *, as_json: bool) -> None:
    if as_json:
        print_json(trusted)
        return
    rows = [
        (
            card.model,
            card.profile,
            card.tool,
            card.trust.value,
            f"{card.evidence.passed}/{card.evidence.trials}",
            f"{math.floor(card.evidence.low * 100)}-{math.ceil(card.evidence.high * 100)} %",
            card.why,
        )
        for card in trusted.cards
    ]
    print_table(("MODEL", "PROFILE", "TOOL", "TRUST", "PASSED", "95 %", "WHY"), rows, empty="There are no cards.")
