"""The options that commands share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

if TYPE_CHECKING:
    from groundwire.contracts.canonical import JsonObject

F = TypeVar("F", bound=Callable[..., Any])

REGISTRY_FILE = "tool_registry.json"
MOST_ROWS = 2**31 - 1
MOST_DIGITS = 12


class Text(click.ParamType):
    """Text that can be stored and compared: an id, a name, a note. File names may be any bytes, these may not."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeError:
            self.fail("it is not UTF-8", param, ctx)
        return text


TEXT = Text()


class Number(click.FloatRange):
    """A number that can be compared with others: nan lies in every range, and endless is no number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


@dataclass
class GlobalOptions:
    """What was said about configuration, store and verbosity, before the command's name or after it."""

    config: str | None = None
    store: str | None = None
    verbose: bool = False

    @staticmethod
    def current() -> "GlobalOptions":
        return click.get_current_context().ensure_object(GlobalOptions)


def global_options(*, hidden: bool = True) -> Callable[[F], F]:
    """Options of the whole program. Each command takes them too, without repeating them in its help."""

    def decorate(command: F) -> F:
        for option in (
            click.option("--verbose", is_flag=True, help="Say more on stderr, tracebacks included.", **_noted(hidden)),
            click.option(
                "--store", metavar="URL", help="The store, whatever the configuration says.", **_noted(hidden)
            ),
            click.option(
                "--config", metavar="PATH", help="Settings to use instead of groundwire.toml.", **_noted(hidden)
            ),
        ):
            command = option(command)
        return command

    return decorate


def _noted(hidden: bool) -> dict[str, Any]:  # noqa: FBT001 - click's own name for it
    return {"expose_value": False, "hidden": hidden, "callback": _note}


def _note(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and parameter.name is not None:
        setattr(context.ensure_object(GlobalOptions), parameter.name, value)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
registry_option = click.option(
    "--registry",
    "registry_path",
    metavar="PATH",
    default=REGISTRY_FILE,
    show_default=True,
    help="The file that `groundwire build` wrote.",
)
tools_option = click.option("--tools", "tools_dir", metavar="DIR", help="Tool folders to offer, read as they are.")
built_option = click.option(
    "--registry",
    "registry_path",
    metavar="PATH",
    help=f"Without --tools: what `groundwire build` wrote. Default: {REGISTRY_FILE}, if there is one.",
)
tenant_option = click.option(
    "--tenant", metavar="TENANT", type=TEXT, default="default", show_default=True, help="Whose data."
)
limit_option = click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1, max=MOST_ROWS),
    default=50,
    show_default=True,
    help="How many, newest first.",
)
reports_option = click.option(
    "--reports",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default="reports",
    show_default=True,
    help="The folder of all reports.",
)
note_option = click.option("--note", metavar="TEXT", type=TEXT, default="", help="Why; it is recorded.")


def read_arguments(text: str) -> "JsonObject":
    """The arguments of a call, as somebody typed them."""
    from groundwire.contracts.canonical import parse_json
    from groundwire.contracts.errors import InvalidJson

    try:
        value = parse_json(text)
    except InvalidJson as error:
        raise click.BadParameter(f"This is not JSON: {error}", param_hint="--arguments") from None
    if not isinstance(value, dict):
        raise click.BadParameter("Arguments are one JSON object.", param_hint="--arguments")
    return value


def os_user() -> str:
    """The name of the user that runs this process, under which decisions are recorded.

    From the system's user database: variables such as USER and LOGNAME could hold any name.
    """
    import os

    try:
        import pwd
    except ImportError:  # Windows
        import getpass

        return getpass.getuser()
    user_id = os.geteuid()
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:  # containers often run as a number that has no name
        return f"uid {user_id}"


class Duration(click.ParamType):
    """A length of time, such as 90d; a value in seconds."""

    name = "duration"
    _SECONDS: ClassVar = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        number, unit = value[:-1], value[-1:]
        if unit not in self._SECONDS or not (number.isascii() and number.isdigit()):
            self.fail(f"{value!r} is not a duration. Write 90d, 12h, 30m, 45s or 2w.", param, ctx)
        if len(number) > MOST_DIGITS:
            self.fail(f"{value[:20]!r}… is longer than any time.", param, ctx)
        return float(int(number) * self._SECONDS[unit])
