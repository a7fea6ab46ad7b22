"""`groundwire translate`: a body of one model API in another, for people who debug other people's clients."""

import sys
import time
from typing import TYPE_CHECKING, cast

import click

from groundwire.cli.options import global_options
from groundwire.cli.output import print_json
from groundwire.cli.stdin import read_stdin
from groundwire.contracts.requests import DIALECTS, Dialect

if TYPE_CHECKING:
    from groundwire.contracts.errors import WireError


@click.command(context_settings={"allow_extra_args": True})
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
@click.pass_context
def translate(context: click.Context, source: str, target: str, kind: str, model: str) -> None:
    """Read a body of one model API on stdin and write it in another.

    What the other API cannot say is reported on stderr, one JSON object per line. `--to canonical` shows what was
    understood. An error that a provider reports is written in the other API's words, a stream that was cut as far as it
    came; then the command fails.
    """
    from msgspec.structs import replace

    from groundwire.codecs.dialects import Kind
    from groundwire.codecs.dialects import translate as translate_body
    from groundwire.contracts.errors import ProviderError, WireError

    if context.args:
        raise click.UsageError(f"translate reads standard input: groundwire translate … < {context.args[0]}")
    data = read_stdin()
    try:
        done = translate_body(
            data,
            cast("Dialect", source),
            cast("Dialect", target),
            kind=cast("Kind", kind),
            model=model,
            created=int(time.time()),
        )
    except WireError as error:
        error.hint = _hint(data, source, kind, error) or error.hint
        raise
    for warning in done.warnings:
        print_json(warning, file=sys.stderr)
    click.echo(done.body, nl=not done.body.endswith(b"\n"))
    if done.failure is not None:
        told = f"{done.failure.kind}, status {done.failure.status}" if done.failure.status else done.failure.kind
        raise ProviderError(replace(done.failure, message=f"{done.failure.message} ({told})"))


def _hint(data: bytes, source: str, kind: str, error: "WireError") -> str:
    """The options that would have been right."""
    from groundwire.codecs.dialects import guess

    if error.path == "model":
        return "name the model with --model"
    found = guess(data)
    if found is None:
        return ""
    options = [f"--kind {found.kind}"] if found.kind != kind else []
    if found.dialect not in (source, None):
        options.insert(0, f"--from {found.dialect}")
    return f"this looks like {found}: say {' '.join(options)}" if options else ""
