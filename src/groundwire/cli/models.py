"""`groundwire models`: who can be asked, and for which models by which names."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.failures import FAILED, show_error
from groundwire.cli.options import global_options, json_option
from groundwire.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from groundwire.providers.catalogue import ModelEntry, ProviderInfo


@click.command()
@json_option
@global_options()
@click.pass_context
def models(context: click.Context, *, as_json: bool) -> None:
    """List providers and models, and how to name them.

    Nobody is asked for it: it is what groundwire.toml, the environment and the built-in catalogue say. Keys are never
    shown, only whether there is one. What keeps a model from being asked is told behind the lists, and the command fails.
    """
    import os

    import msgspec

    from groundwire.assembly import list_models, list_providers
    from groundwire.cli.opening import read_settings

    settings = read_settings()
    providers = list_providers(settings, os.environ)
    entries, problems = list_models(settings, os.environ)
    reachable = {info.name for info in providers if _is_ready(info)}
    if as_json:
        listed = [{**msgspec.to_builtins(entry), "reachable": entry.provider in reachable} for entry in entries]
        print_json({"providers": providers, "models": listed, "problems": problems})
    else:
        _show(providers, entries, reachable)
    for problem in problems:
        show_error("config_error", problem)
    if problems:
        context.exit(FAILED)


def _show(providers: "Iterable[ProviderInfo]", entries: "Iterable[ModelEntry]", reachable: "AbstractSet[str]") -> None:
    headers = ("PROVIDER", "SPEAKS", "ADDRESS", "KEY", "DEFAULT")
    print_table(headers, map(_provider_row, providers), empty="There are no providers.")
    print_text("")
    shown = ("MODEL", "ASKED AS", "ALIASES", "CAPABILITIES", "TOOLS", "CONTEXT", "PRICE", "REACHABLE")
    rows = (_model_row(entry, reachable=entry.provider in reachable) for entry in entries)
    print_table(shown, rows, empty="The catalogue is empty.")


def _is_ready(info: "ProviderInfo") -> bool:
    return info.has_key or not info.key_env


def _provider_row(info: "ProviderInfo") -> tuple[str, ...]:
    if not info.dialect:
        key = "not needed"
    elif info.has_key:
        key = "set"
    else:
        key = f"{info.key_env} is not set" if info.key_env else "none"
    return info.name, info.dialect or "in process", info.base_url, key, "yes" if info.is_default else ""


def _model_row(entry: "ModelEntry", *, reachable: bool) -> tuple[str, ...]:
    prices = entry.prices
    return (
        entry.id,
        f"{entry.provider}/{entry.wire_name}",
        ", ".join(entry.aliases),
        ", ".join(sorted(entry.capabilities)),
        entry.tool_calling.value,
        "" if entry.context_tokens is None else str(entry.context_tokens),
        "" if prices is None else f"${prices.input:g} in, ${prices.output:g} out per million",
        "yes" if reachable else "no",
    )
