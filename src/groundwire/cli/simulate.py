"""`groundwire simulate`: a scripted model on a port, in every dialect, until it is stopped."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.listening import unheard
from groundwire.cli.options import Number, global_options, json_option
from groundwire.cli.output import clean, print_json, print_text
from groundwire.extras import needs_extra

if TYPE_CHECKING:
    from groundwire.simulator.app import ServedRequest, Simulator


@click.command()
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=8742,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--script", metavar="FILE", type=click.Path(), help="Answers and rules, as JSON or TOML, or module:name.")
@click.option("--faults", "seed", metavar="SEED", type=int, help="Misbehave by plan: the same seed, the same faults.")
@click.option(
    "--fault",
    "kinds",
    metavar="KIND[:NUMBER]",
    multiple=True,
    help="Misbehave in this way, such as status:429, cut:60 or timeout:2; several times for several. "
    "Every request, unless --faults or --rate says how often.",
)
@click.option(
    "--rate",
    metavar="SHARE",
    type=Number(0, 1),
    help="The share of requests that meet a fault; unless said 0.1 with --faults, 1 with --fault alone.",
)
@click.option("--key", metavar="K", help="Refuse requests without this key.")
@click.option("--quiet", is_flag=True, help="Do not tell of each request on stderr.")
@json_option
@global_options()
def simulate(
    host: str,
    port: int,
    script: str | None,
    seed: int | None,
    kinds: tuple[str, ...],
    rate: float | None,
    key: str | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Serve a scripted model in every dialect, for tests.

    It speaks OpenAI Chat, OpenAI Responses, Anthropic Messages, Gemini and Gemini Live, and refuses what they refuse. It
    prints what to export, and serves until Ctrl-C. Without a script it chooses tools by the words of the last message.
    What is not said here is taken from [simulator] in groundwire.toml.
    """
    import asyncio

    if key == "":
        raise click.UsageError("--key is empty; leave it out to let every request in.")

    with needs_extra("simulator", "The simulator"):
        from groundwire.simulator.app import Simulator
    from msgspec.structs import replace

    from groundwire.assembly import scripted_model
    from groundwire.cli.opening import read_settings

    given = {"script": script, "faults": seed, "rate": rate, "kinds": kinds or None}
    wanted = replace(read_settings().simulator, **{name: value for name, value in given.items() if value is not None})
    if rate is not None and wanted.faults is None and not wanted.kinds:
        raise click.UsageError("--rate says how often the faults of --faults or --fault strike; name one of them too.")
    simulator = Simulator(scripted_model(wanted), key=key or "", keep=0, on_served=None if quiet else _tell)
    asyncio.run(_serve(simulator, host, port, as_json=as_json))


async def _serve(simulator: "Simulator", host: str, port: int, *, as_json: bool) -> None:
    import asyncio
    import signal

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    try:
        await simulator.start(host, port)
    except OSError as error:
        raise unheard(error, host, port) from None
    try:
        _announce(simulator, as_json=as_json)
        await stopped.wait()
    finally:
        await simulator.close()


def _tell(served: "ServedRequest") -> None:
    struck = f"  fault {served.fault.kind}" if served.fault is not None else ""
    line = f"{served.method} {served.path}  {served.model or '-'}  {served.status or 'no answer'}{struck}"
    click.echo(clean(line), err=True)


def _announce(simulator: "Simulator", *, as_json: bool) -> None:
    import sys

    if as_json:
        print_json({"url": simulator.url, "live_url": simulator.live_url, "environment": simulator.environment})
    else:
        print_text(f"Listening on {simulator.url}, Gemini Live on {simulator.live_url}")
        print_text("For the vendors' SDKs and for groundwire:")
        for name, value in simulator.environment.items():
            print_text(f"  export {name}={value}")
    sys.stdout.flush()
