"""How a command ends that cannot go on: one clear line on stderr and an exit code, never a surprise."""

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from groundwire.cli.options import GlobalOptions
from groundwire.cli.output import clean
from groundwire.contracts.redaction import redact

FAILED = 1
INTERRUPTED = 130


@contextlib.contextmanager
def report_failures(context: click.Context) -> Iterator[None]:
    """Turn what a command raises into a message and an exit code."""
    try:
        try:
            yield
        finally:
            _flush()
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except (KeyboardInterrupt, BrokenPipeError):
        _silence()
        context.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last place where anything can still be said
        _silence()
        _explain(error, verbose=context.ensure_object(GlobalOptions).verbose)
        context.exit(FAILED)


def _explain(error: Exception, *, verbose: bool) -> None:
    from groundwire.contracts.errors import GroundwireError

    if isinstance(error, GroundwireError):
        show_error(error.code, error.message, error.hint)
    elif isinstance(error, OSError) and error.strerror:
        name = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        show_error("os_error", f"{name}{error.strerror}")
    else:
        show_error("internal_error", "internal error, run with --verbose" if not verbose else "internal error")
        if verbose:
            import traceback

            click.echo(redact("".join(traceback.format_exception(error))), err=True, nl=False)


def show_error(code: str, message: str, hint: str = "") -> None:
    click.echo(f"{click.style(f'error[{code}]:', fg='red', bold=True)} {clean(redact(message))}", err=True)
    if hint:
        click.echo(f"{click.style('hint:', bold=True)} {clean(redact(hint))}", err=True)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence() -> None:
    """Let nothing more be written to a reader that is gone, not even by the interpreter when it ends."""
    try:
        _flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
