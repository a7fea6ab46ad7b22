"""`groundwire simulate`: a scripted model on a port, in every dialect, until it is stopped."""

from typing import TYPE_CHECKING

import click

from groundwire.cli.options import global_options, json_option
from groundwire.cli.output import print_json, print_text

if TYPE_CHECKING:
    from groundwire.simulator.app import Simulator


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8742, show_default=True, help="The port; 0 takes a free one."
)
@click.option("--script", metavar="FILE", type=click.Path(), help="Answers and rules, as JSON or TOML.")
@click.option("--faults", "seed", metavar="SEED", type=int, help="Misbehave by plan: the same seed, the same faults.")
@click.option(
    "--rate",
    type=click.FloatRange(0, 1),
    help="The share of requests that meet a fault, 0.1 unless said; only with --faults.",
)
@click.option("--key", metavar="K", help="Refuse requests without this key.")
@json_option
@global_options()
def simulate(
    host: str, port: int, script: str | None, seed: int | None, rate: float | None, key: str | None, *, as_json: bool
) -> None:
    """Serve a scripted model in every dialect, for tests.

    It speaks OpenAI Chat, OpenAI Responses, Anthropic Messages, Gemini and Gemini Live, and refuses what they refuse. It
    prints what to export, and serves until Ctrl-C. Without a script it chooses tools by the words of the last message.
    What is not said here is taken from [simulator] in groundwire.toml.
    """
    import asyncio

    from groundwire.contracts.errors import ConfigError

    if key == "":
        raise click.UsageError("--key is empty; leave it out to let every request in.")

    try:
        from groundwire.simulator.app import Simulator
    except ImportError as error:
        message = f"The simulator needs {error.name}, which is not installed."
        raise ConfigError(message, hint="pip install 'groundwire[simulator]'") from None
    from msgspec.structs import replace

    from groundwire.assembly import scripted_model
    from groundwire.cli.opening import read_settings

    given = {"script": script, "faults": seed, "rate": rate}
    wanted = replace(read_settings().simulator, **{name: value for name, value in given.items() if value is not None})
    if rate is not None and wanted.faults is None:
        raise click.UsageError("--rate says how often the faults of --faults strike; name a seed too.")
    asyncio.run(_serve(Simulator(scripted_model(wanted), key=key or "", keep=0), host, port, as_json=as_json))


async def _serve(simulator: "Simulator", host: str, port: int, *, as_json: bool) -> None:
    import asyncio
    import signal

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await simulator.start(host, port)
    try:
        _announce(simulator, as_json=as_json)
        await stopped.wait()
    finally:
        await simulator.close()


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
