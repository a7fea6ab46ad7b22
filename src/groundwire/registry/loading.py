"""From a tool folder to the functions in it: imported at first use, and only if the code is still what was built.

The folder becomes a package under a name made from its path, so that two tools never share a module and a handler can
say `from .helper import x`. Knows nothing of schemas or of the artifact.
"""

import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from groundwire.contracts.canonical import digest_bytes
from groundwire.contracts.errors import RegistryError
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.tools import ToolSpec, Variant
from groundwire.registry.contents import HANDLER_FILE, handler_hash, read_digests
from groundwire.registry.handlers import Handler, bind

_BUILT_FROM = "__groundwire_hash__"
_OPENING = threading.Lock()
"""Held while a folder enters `sys.modules`, which all threads share."""


class _FreshLoader(SourceFileLoader):
    """Compiles what is in the file now: cached bytecode is trusted by time and size, which is not enough here."""

    def path_stats(self, path: str) -> Any:
        raise OSError(path)

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Leave nothing beside the author's files."""


def load_handler(folder: Path, spec: ToolSpec) -> Handler:
    """Import a folder's handler for a tool; the reason of a RegistryError says why that cannot be."""
    module = _import_handler(folder, spec)
    try:
        return bind(
            _function(module, "execute", spec),
            spec,
            reconcile=getattr(module, "reconcile", None),
            variants={each.name: _function(module, variant_function(each), spec) for each in spec.policy.variants},
        )
    except RegistryError as error:
        raise RegistryError(error.message, reason="handler_broken", hint=error.hint) from None


def variant_function(variant: Variant) -> str:
    """The name of the function that is a variant."""
    return variant.handler or "execute_" + re.sub(r"\W", "_", variant.name)


def _import_handler(folder: Path, spec: ToolSpec) -> ModuleType:
    try:
        digests = read_digests(folder)
    except OSError as error:
        raise RegistryError(f"The folder of {spec.tool_id} cannot be read: {error}", reason="handler_gone") from None
    if HANDLER_FILE not in digests:
        raise RegistryError(f"The handler of {spec.tool_id} is gone from {folder}.", reason="handler_gone")
    found = handler_hash(digests)
    if found != spec.handler_hash:
        raise RegistryError(
            f"The code of {spec.tool_id} has changed since the registry was built.",
            reason="handler_changed",
            hint="Run `groundwire build` and start again.",
        )
    name = _open_package(folder, found, {PurePosixPath(path).parent for path in digests})
    try:
        return importlib.import_module(f"{name}.{HANDLER_FILE.removesuffix('.py')}")
    except BaseException as error:  # a module runs as it is imported, and can raise anything
        if is_from_signal(error):
            raise
        raise RegistryError(
            f"The handler of {spec.tool_id} cannot be imported: {_describe(error)}",
            reason="handler_broken",
        ) from error


def _open_package(folder: Path, found: str, inner: Iterable[PurePosixPath]) -> str:
    """Make the folder importable, anew if its code is not what was imported before."""
    place = folder.resolve()
    name = f"groundwire_tool_{re.sub(r'[^A-Za-z0-9]', '_', folder.name)}_{digest_bytes(os.fsencode(place))[:12]}"
    with _OPENING:
        if getattr(sys.modules.get(name), _BUILT_FROM, "") == found:
            return name
        package = ModuleType(name)
        package.__path__ = [str(place)]
        setattr(package, _BUILT_FROM, found)
        for module in [module for module in sys.modules if module.startswith(f"{name}.")]:
            sys.modules.pop(module, None)
        for path in (place, *(place / each for each in inner)):
            sys.path_importer_cache[str(path)] = FileFinder(
                str(path), (ExtensionFileLoader, EXTENSION_SUFFIXES), (_FreshLoader, SOURCE_SUFFIXES)
            )
        sys.modules[name] = package
    return name


def _function(module: ModuleType, name: str, spec: ToolSpec) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if not callable(function):
        raise RegistryError(f"The handler of {spec.tool_id} has no function {name}().", reason="handler_broken")
    found: Callable[..., Any] = function
    return found


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its text is made by the module's own code
        return type(error).__name__
