"""`groundwire chat`: talk with a model that uses your tools, line by line or with one message.

The answer goes to stdout; calls, questions and remarks go to stderr, so that an answer can be piped.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.options import TEXT, built_option, global_options, json_option, tenant_option, tools_option
from groundwire.cli.output import note, plural, reserved_stdout

if TYPE_CHECKING:
    from groundwire.agent import Agent, Prompt
    from groundwire.assembly import Settings
    from groundwire.cli.talking import Talk
    from groundwire.providers.router import ModelRouter
    from groundwire.registry import Registry


@click.command()
@click.argument("model", type=TEXT, required=False)
@tools_option
@built_option
@click.option("-m", "--message", type=TEXT, metavar="TEXT", help="Say this, print the answer and end.")
@click.option("--session", type=TEXT, metavar="NAME", help="The conversation to go on with. Default: a new one.")
@click.option("--resume", "run_id", type=TEXT, metavar="RUN", help="Take up a run that waits or was cut off.")
@click.option("--instructions", type=TEXT, metavar="FILE|TEXT", default="", help="What the model is told beforehand.")
@click.option("--set", "changes", type=TEXT, metavar="NAME=VALUE", multiple=True, help="A setting or limit of the run.")
@click.option(
    "--approvals",
    type=click.Choice(["pause", "answer"]),
    help="A call that needs a person pauses the run, or is answered to the model as refused. Default: pause.",
)
@click.option("--profile", type=TEXT, metavar="NAME", help="The tool profile of the settings to run under.")
@click.option("--image", "--file", "files", metavar="PATH", multiple=True, help="Goes along with the first message.")
@click.option("--no-stream", is_flag=True, help="Wait for whole answers.")
@tenant_option
@json_option
@global_options()
@click.pass_context
def chat(
    context: click.Context,
    model: str | None,
    message: str | None,
    session: str | None,
    run_id: str | None,
    files: tuple[str, ...],
    *,
    no_stream: bool,
    as_json: bool,
    tenant: str,
    **options: Any,
) -> None:
    """Talk with a model that uses your tools.

    MODEL is provider/model or an alias; when not named, defaultModel of groundwire.toml, or the built-in model where no
    key is configured. At a terminal it is a conversation: Ctrl-C cancels what goes on, Ctrl-D ends it. With -m, or with
    a message on stdin, it is one answer, and the exit code is 0 only if the run completed: 3 when it waits for an
    approval, 130 when it was cancelled, else 1. JSON is one event per line.
    """
    if run_id is not None:
        _refuse_beside_resume(context)
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    is_conversation = is_terminal and message is None and run_id is None
    if not is_terminal and message is None and run_id is None:
        message = _read_message()
    if message is not None and not message.strip() and not files:
        raise click.UsageError("There is nothing to say: name it with -m, or on stdin, or come with a terminal.")

    from groundwire.assembly import default_model, open_models
    from groundwire.cli.opening import read_settings, read_tools
    from groundwire.cli.servers import tools_on_loop
    from groundwire.cli.talking import EXIT_CODES, Talk
    from groundwire.runtime.clock import RandomIds

    settings = read_settings()
    own_tools = read_tools(options["tools_dir"], options["registry_path"])
    loop, registry = context.with_resource(tools_on_loop(own_tools, settings))
    models = open_models(settings)
    if run_id is None:
        model = model or default_model(settings, os.environ)
        _announce(models, model, registry)
    session = session or RandomIds().new("chat")
    agent = _make_agent(settings, models, registry, {"model": model, "tenant": tenant, "session": session, **options})
    attached = _attached(files)
    can_ask = is_terminal and not as_json
    talk = Talk(agent, models, loop, tenant=tenant, is_live=not no_stream, as_json=as_json, can_ask=can_ask)
    if is_conversation:
        note(f"Session {session}. Ctrl-C cancels, Ctrl-D ends.")
        with talk:
            _converse(talk, attached)
        return
    with reserved_stdout() as out, talk:
        talk.out = out
        outcome = talk.resume(run_id) if run_id is not None else talk.say(_with_files(message or "", attached))
    context.exit(EXIT_CODES.get(outcome, 1))


def _make_agent(
    settings: "Settings", models: "ModelRouter", registry: "Registry", options: Mapping[str, Any]
) -> "Agent":
    from groundwire.agent import Agent

    changes, limits = _read_changes(options["changes"])
    return Agent(
        options["model"] or "",  # a run that is taken up has its own
        tools=registry,
        instructions=_read_instructions(options["instructions"]),
        settings=changes,
        limits=limits,
        approvals=options["approvals"] or "pause",
        profile=options["profile"] or "",
        models=models,
        config=settings,
        tenant=options["tenant"],
        session=options["session"],
    )


def _converse(talk: "Talk", attached: Sequence[Any]) -> None:
    """Message by message, until there is no more."""
    from groundwire.cli.failures import show_error
    from groundwire.cli.talking import read_line
    from groundwire.contracts.errors import GroundwireError

    while True:
        try:
            said = read_line("> ").strip()
        except EOFError:
            note("")
            return
        except KeyboardInterrupt:
            note("")
            continue
        if not said:
            continue
        try:
            talk.say(_with_files(said, attached))
        except GroundwireError as error:
            show_error(error.code, error.message, error.hint)
        attached = ()


def _refuse_beside_resume(context: click.Context) -> None:
    """A run that is taken up has its own model, message and options."""
    fixed = ("model", "message", "session", "instructions", "changes", "approvals", "profile", "files")
    for parameter in context.command.params:
        if parameter.name in fixed and context.params[parameter.name]:
            what = "MODEL" if isinstance(parameter, click.Argument) else parameter.opts[-1]
            raise click.UsageError(f"{what} cannot be given with --resume: the run goes on as it began.")


def _read_message() -> str:
    try:
        return "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeError:
        raise click.UsageError("The message on stdin is not UTF-8.") from None


def _read_instructions(text: str) -> str:
    """The text of a file of that name, if there is one; else the words themselves."""
    try:
        return Path(text).read_text(encoding="utf-8") if text and Path(text).is_file() else text
    except (OSError, ValueError):  # too long for a name, or not text
        return text


def _read_changes(changes: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and limits by name; values as JSON where they are JSON, else as text."""
    import msgspec

    from groundwire.runtime.runs.options import RunLimits

    settings: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for change in changes:
        name, found, value = change.partition("=")
        if not found:
            raise click.BadParameter(f"{change!r} is not NAME=VALUE", param_hint="--set")
        name = name.strip()
        group = limits if name in RunLimits.__struct_fields__ else settings
        try:
            group[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            group[name] = value
    return settings, limits


def _attached(files: Sequence[str]) -> list[Any]:
    from groundwire.runtime.runs.prompts import attach

    return [attach(file) for file in files]


def _with_files(text: str, attached: Sequence[Any]) -> "Prompt":
    from groundwire.contracts.messages import TextPart

    return [TextPart(text=text), *attached] if attached else text


def _announce(models: "ModelRouter", model: str, registry: "Registry") -> None:
    from groundwire.assembly import SIMULATED

    route = models.catalogue.find(model)
    if route.provider != SIMULATED:
        note(f"{route.provider}/{route.model} with {plural(len(registry), 'tool')}.")
        return
    why = "No key is configured, so the" if models.catalogue.default_provider == SIMULATED else "The"
    note(f"{why} built-in model answers, with {plural(len(registry), 'tool')}. It understands nothing.")
