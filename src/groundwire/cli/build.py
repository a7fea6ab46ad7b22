"""`groundwire build`: tool folders in, tool_registry.json and tools.lock out."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.options import global_options, json_option
from groundwire.cli.output import clean, plural, print_json, print_text

if TYPE_CHECKING:
    from groundwire.contracts.schema_limits import SchemaLimits
    from groundwire.registry.build import BuildReport


@click.command()
@click.argument("tools_dir", default="tools/")
@click.option("--out", "out_dir", metavar="DIR", default=".", help="Write the two files there instead of here.")
@click.option("--check", is_flag=True, help="Write nothing; fail when the files no longer fit the folders.")
@click.option("--strict", is_flag=True, help="Fail when a tool had to be left out.")
@json_option
@global_options()
@click.pass_context
def build(context: click.Context, tools_dir: str, out_dir: str, *, check: bool, strict: bool, as_json: bool) -> None:
    """Build the tools of a folder.

    TOOLS_DIR is tools/ when not named. Writes tool_registry.json, which agents read, and tools.lock, which is committed. A tool with a fault is left out,
    with its reason; the others are built all the same.
    """
    from groundwire.cli.opening import read_settings

    limits = read_settings().schemas
    if check:
        context.exit(_check(tools_dir, out_dir, limits, as_json=as_json))
    from groundwire.registry.build import build as build_tools

    report = build_tools(tools_dir, out_dir, schema_limits=limits)
    if as_json:
        print_json(report)
    else:
        _show(report, tools_dir)
    if not report.built or (strict and report.quarantined):
        context.exit(1)


def _check(tools_dir: str, out_dir: str, limits: "SchemaLimits", *, as_json: bool) -> int:
    from groundwire.registry.build import check as find_drift

    drift = find_drift(tools_dir, out_dir, schema_limits=limits)
    if as_json:
        print_json({"ok": not drift, "drift": drift})
    elif not drift:
        print_text("The built files fit the folders.")
    for found in drift if not as_json else ():
        name = f"{found.tool}  " if found.tool else ""
        print_text(f"{click.style(found.kind, fg='red')}  {clean(name + found.message)}")
    return 1 if drift else 0


def _show(report: "BuildReport", tools_dir: str) -> None:
    if report.built:
        print_text(f"Built {plural(len(report.built), 'tool')}, version {click.style(report.version, bold=True)}")
    else:
        print_text(click.style(clean(f"Nothing was built from {tools_dir}"), fg="red"))
    for name in report.built:
        print_text(f"  {clean(name)}")
    if report.quarantined:
        print_text(click.style(f"Quarantined {plural(len(report.quarantined), 'tool')}", fg="red"))
    for problem in report.quarantined:
        print_text(clean(f"  {problem.tool}  {problem.reason}  {problem.message}"))
    if report.warnings:
        print_text(click.style(plural(len(report.warnings), "warning").capitalize(), fg="yellow"))
    for advice in report.warnings:
        print_text(clean(f"  {advice.tool}  {advice.code}  {advice.message}"))
