"""`groundwire app supplier play`: a simulated supplier against the bot, in front of your eyes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from groundwire.cli.failures import FAILED
from groundwire.cli.options import TEXT, global_options, json_option
from groundwire.cli.output import note, print_json, print_text

if TYPE_CHECKING:
    from groundwire.apps.supplier.playing import Move

RULES = "rules"


@click.command("play")
@click.option(
    "--bot", metavar="MODEL", type=TEXT, default=RULES, show_default=True, help="Who asks: rules, or a model."
)
@click.option(
    "--supplier",
    metavar="MODEL",
    type=TEXT,
    default=RULES,
    show_default=True,
    help="Who answers: rules, or a model such as gemini-flash.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Another one, another supplier."
)
@click.option("--turns", type=click.IntRange(1, 100), default=12, show_default=True, help="Messages at most.")
@click.option("--item", metavar="TEXT", type=TEXT, help="What is bought; else the seed decides.")
@click.option("--qty", type=click.IntRange(1, 10_000_000), help="How many; else the seed decides.")
@click.option("--want", metavar="TEXT", type=TEXT, help="A customization, such as 印logo.")
@json_option
@global_options()
@click.pass_context
def app_supplier_play(
    context: click.Context, *, bot: str, supplier: str, seed: int, turns: int, as_json: bool, **wanted: object
) -> None:
    """Let a simulated supplier and the bot talk, and show what is captured.

    The supplier's prices and temper are drawn by the seed. JSON is one move per line, and first the supplier's hand. The
    exit code is 1 where the bot's model could not be reached.
    """
    import asyncio

    changes = {name: value for name, value in wanted.items() if value is not None}
    status = asyncio.run(_play(bot, supplier, seed, turns, changes, as_json=as_json))
    if status == "error":
        context.exit(FAILED)


async def _play(bot: str, supplier: str, seed: int, turns: int, changes: Mapping[str, object], *, as_json: bool) -> str:
    """How it ended."""
    from msgspec.structs import replace

    from groundwire.apps.supplier.playing import Ended, draw_request, draw_sheet, open_game
    from groundwire.cli.opening import check_models, read_settings

    settings = read_settings()
    await check_models(settings, [name for name in (bot, supplier) if name != RULES])
    request = replace(draw_request(seed, f"play-{seed}"), **changes)
    sheet = draw_sheet(seed)
    if as_json:
        print_json({"move": "dealt", "request": request, "sheet": sheet})
    else:
        note(f"{request.item} ×{request.qty}{f', {request.want}' if request.want else ''}; seed {seed}")
    status = ""
    async with open_game(settings, request, sheet, bot=bot, supplier=supplier, seed=seed) as game:
        async for move in game.moves(turns):
            status = move.status if isinstance(move, Ended) else status
            if as_json:
                print_json(move)
            else:
                _show(move)
    if not as_json:
        hand = f"{sheet.temper}, moq {sheet.moq}, {sheet.unit_price:g} yuan, {sheet.lead_days} days"
        note(f"The supplier's hand was: {hand}.")
    return status


def _show(move: "Move") -> None:
    from groundwire.apps.supplier.playing import Captured, Ended, Said

    match move:
        case Said(role=role, content=content):
            print_text(f"{'买家' if role == 'bot' else '供应商'}  {content}")
        case Captured(entry=entry):
            args = entry.args
            about = args.get("goalId") or args.get("assetType") or args.get("mediaType") or ""
            value = args.get("value") or args.get("blockerType") or args.get("urgency") or args.get("description") or ""
            print_text(f"      → {entry.name} {about} = {value}  「{args.get('supplierQuote')}」")
        case Ended():
            print_text(f"\nstatus: {move.status}\n{move.summary_text}")
            for signal in move.signals:
                quote = f"  「{signal.supplier_quote}」" if signal.supplier_quote else ""
                print_text(f"signal: {signal.signal_type} ({signal.severity}) {signal.reason}{quote}")
