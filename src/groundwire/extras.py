"""Optional parts of the package: whether one is installed, and how to install it.

Commands import this before anything else, so everything that takes time is imported where it is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.contracts.errors import ConfigError

PACKAGE = "groundwire"


def is_installed(module: str) -> bool:
    """Return whether a top-level module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def check_extra(extra: str, what: str, module: str) -> None:
    """Raise a ConfigError if a module of an extra is not installed. Imports nothing."""
    if not is_installed(module):
        raise missing_extra(extra, what, module)


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Turn the ImportError of a package that is not installed into a ConfigError that names the extra."""
    try:
        yield
    except ImportError as error:
        module = error.name or "a package"
        if module.partition(".")[0] == PACKAGE:
            raise
        raise missing_extra(extra, what, module) from None


def missing_extra(extra: str, what: str, module: str) -> ConfigError:
    """Return the error for `what`, which needs a module that only an extra installs."""
    from groundwire.contracts.errors import ConfigError

    message = f"{what} needs the extra {extra!r}: {module.partition('.')[0]} is not installed."
    return ConfigError(message, hint=install_command(extra))


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from wherever this copy of the package was installed."""
    import importlib.metadata

    try:
        direct_url = importlib.metadata.distribution(PACKAGE).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        direct_url = None
    return f"pip install {build_requirement(extra, direct_url)}"


def build_requirement(extra: str, direct_url: str | None) -> str:
    """Return the argument for `pip install` that adds an extra, quoted for a shell.

    `direct_url` is the text of `direct_url.json` (PEP 610). Installers write it unless the package came from an index.
    """
    import json
    from shlex import quote
    from urllib.parse import unquote, urlsplit

    named = f"{PACKAGE}[{extra}]"
    try:
        origin = json.loads(direct_url or "")
        parts = urlsplit(str(origin["url"]))
    except (ValueError, KeyError, TypeError):
        return quote(named)
    if "dir_info" in origin:
        return _folder_requirement(unquote(parts.path), extra, editable=bool(origin["dir_info"].get("editable")))
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without a user and a password
    if vcs := origin.get("vcs_info"):
        revision = vcs.get("requested_revision", "")
        url = f"{vcs['vcs']}+{url}{'@' if revision else ''}{revision}"
    return quote(f"{named} @ {url}")


def _folder_requirement(folder: str, extra: str, *, editable: bool) -> str:
    from pathlib import Path
    from shlex import quote

    if not Path(folder, "pyproject.toml").is_file():  # images are often built from a folder that they do not keep
        return quote(f"{PACKAGE}[{extra}]")
    return ("-e " if editable else "") + quote(f"{folder}[{extra}]")
