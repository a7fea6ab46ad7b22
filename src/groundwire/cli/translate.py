"""`groundwire translate`: a body of one model API in another, for people who debug other people's clients."""

import sys
import time
from typing import cast

import click

from groundwire.cli.options import global_options
from groundwire.cli.output import print_json
from groundwire.contracts.requests import DIALECTS, Dialect


@click.command()
@click.option("--from", "source", type=click.Choice(DIALECTS), required=True, help="The dialect of what is read.")
@click.option(
    "--to", "target", type=click.Choice([*DIALECTS, "canonical"]), required=True, help="The dialect to write."
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    default="request",
    show_default=True,
    help="What is read: a request, a whole response, or the events of a streamed one.",
)
@click.option(
    "--model", default="", help="The model's name, where the body does not say it (Gemini) or another is meant."
)
@global_options()
def translate(source: str, target: str, kind: str, model: str) -> None:
    """Read a body of one model API on stdin and write it in another.

    What the other API cannot say is reported on stderr, one JSON object per line. `--to canonical` shows what was
    understood.
    """
    from groundwire.codecs.dialects import Kind
    from groundwire.codecs.dialects import translate as translate_body

    done = translate_body(
        sys.stdin.buffer.read(),
        cast("Dialect", source),
        cast("Dialect", target),
        kind=cast("Kind", kind),
        model=model,
        created=int(time.time()),
    )
    for warning in done.warnings:
        print_json(warning, file=sys.stderr)
    click.echo(done.body, nl=not done.body.endswith(b"\n"))
