"""Suites by the name of one that ships, or from a file or folder of one's own: YAML, JSON, TOML or Python.

That functions and folders are there is seen here, all else by `checking`: before the first trial.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.shapes import did_you_mean, plain_members, read_as
from groundwire.evals.checking import HINT, checked
from groundwire.evals.environments import BUILT_IN
from groundwire.evals.files import SUFFIXES, importable, load_function, read_plain, run_python
from groundwire.evals.peers import load_bfcl, load_tau
from groundwire.evals.scenarios import FunctionCheck, Scenario, Suite
from groundwire.evals.stubs import placed
from groundwire.evals.suites import SUITES, WORKSPACE

_PLACES = f"{', '.join(BUILT_IN)}, a folder of tools, or module:name"
PEERS: dict[str, Callable[[str], Suite]] = {"tau": load_tau, "bfcl": load_bfcl}
"""Suites of others: the word before the colon, and after it the folder."""


class _SuiteFile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a file of data may say. `baseline` is a function, as `module:name`."""

    name: str = ""
    title: str = ""
    scenarios: tuple[Scenario, ...] = ()
    presets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    baseline: str = ""


Suites = Mapping[str, Callable[[JsonObject], Suite]]
"""Suites of applications by name, each made with the options that it was asked for."""


def find_suite(name: str, options: JsonObject, also: Suites) -> tuple[Suite, str]:
    """The suite of that name or path, and the scenarios that are meant: a preset of the workspace stands for both."""
    if name in also:
        return also[name](options), ""
    if options:
        raise ConfigError(f"The suite {name!r} has no options, and {next(iter(options))!r} is one.")
    if name in SUITES:
        return SUITES[name], ""
    if name in WORKSPACE.presets and not Path(name).exists():
        return WORKSPACE, name
    path = Path(name)
    if path.exists():
        return load_suite(path), ""
    kind, _, folder = name.partition(":")
    if folder and kind in PEERS:
        return PEERS[kind](folder), ""
    known = [*SUITES, *also, *WORKSPACE.presets]
    hint = did_you_mean(name, known) or f"there are {', '.join(known)}, or give a file or folder"
    raise ConfigError(f"There is no suite {name!r}, and no file of that name.", hint=hint)


def load_suite(path: str | Path) -> Suite:
    """All suites of a folder are one."""
    path = Path(path)
    if not path.is_dir():
        return checked(_load_file(path), str(path))
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    parts = [(file, _load_file(file)) for file in files if _is_suite(file)]
    if not parts:
        raise ConfigError(f"{path}: there is no suite in it.", hint=f"files that end in {', '.join(SUFFIXES)}")
    owners: dict[str, Path] = {}
    for file, part in parts:
        for scenario in part.scenarios:
            if scenario.id in owners:
                raise ConfigError(f"{file}: the scenario {scenario.id!r} is in {owners[scenario.id].name} too.")
            owners[scenario.id] = file
    baselines = [part.baseline for _, part in parts if part.baseline is not None]
    presets: dict[str, tuple[str, ...]] = {}
    for _, part in parts:
        for name, members in part.presets.items():
            presets[name] = (*presets.get(name, ()), *members)
    joined = Suite(
        name=path.resolve().name,
        scenarios=tuple(scenario for _, part in parts for scenario in part.scenarios),
        presets=presets,
        baseline=baselines[0] if baselines else None,
    )
    return checked(joined, str(path))


def _is_suite(file: Path) -> bool:
    """Python beside suites may hold their functions."""
    if file.suffix.lower() != ".py":
        return True
    text = file.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^(SUITE|scenarios)\b", text, re.MULTILINE) is not None


def _load_file(file: Path) -> Suite:
    if file.suffix.lower() == ".py":
        return _from_python(run_python(file), file)
    values = read_plain(file)
    if isinstance(values, list):
        values = {"scenarios": values}
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: it holds neither a list of scenarios nor a suite.", hint=HINT)
    return _from_values(values, file)


def _from_values(values: Mapping[str, JsonValue], file: Path) -> Suite:
    read = read_as(_SuiteFile, plain_members(values, str(file)), str(file), HINT)
    with importable(file.parent):
        baseline = _function(read.baseline, f"{file}: baseline") if read.baseline else None
        scenarios = tuple(_resolved(scenario, file) for scenario in read.scenarios)
    return Suite(
        name=read.name or file.stem, title=read.title, scenarios=scenarios, presets=read.presets, baseline=baseline
    )


def _from_python(found: Mapping[str, Any], file: Path) -> Suite:
    suite = found.get("SUITE")
    if suite is not None and not isinstance(suite, Suite):
        raise ConfigError(f"{file}: SUITE is no Suite.", hint="SUITE = Suite(name=…, scenarios=(…))")
    if suite is None:
        scenarios = found.get("scenarios")
        if not isinstance(scenarios, (list, tuple)) or not all(isinstance(one, Scenario) for one in scenarios):
            raise ConfigError(f"{file}: it defines neither SUITE nor a list of scenarios.", hint=HINT)
        suite = Suite(name=file.stem, scenarios=tuple(scenarios))
    for scenario in suite.scenarios:
        _refuse_wrong_types(scenario, file)
    with importable(file.parent):
        return replace(suite, scenarios=tuple(_resolved(scenario, file) for scenario in suite.scenarios))


def _refuse_wrong_types(scenario: Scenario, file: Path) -> None:
    """What Python lets pass and a file of data would not, such as a text for a list of turns."""
    data = replace(
        scenario,
        environment="",
        checks=tuple(check for check in scenario.checks if not isinstance(check, FunctionCheck)),
    )
    read_as(Scenario, to_builtins(data, enc_hook=repr), f"{file}: {scenario.id}", HINT)


def _resolved(scenario: Scenario, file: Path) -> Scenario:
    """With functions in the place of their names; folders begin where the file is."""
    where = f"{file}: {scenario.id}"
    checks = tuple(
        replace(check, function=_function(check.function, f"{where}: checks"))
        if isinstance(check, FunctionCheck)
        else check
        for check in scenario.checks
    )
    setup = placed(scenario.setup, file.parent) if scenario.environment == "stubs" else scenario.setup
    return replace(scenario, checks=checks, environment=_environment(scenario.environment, file, where), setup=setup)


def _environment(kind: Any, file: Path, where: str) -> Any:
    if kind in BUILT_IN or callable(kind):
        return kind
    if not isinstance(kind, str):
        raise ConfigError(f"{where}: environment: it must be text", hint=_PLACES)
    folder = file.parent / kind
    if folder.is_dir():
        return str(folder)
    if ":" in kind:
        return _function(kind, f"{where}: environment")
    raise ConfigError(f"{where}: environment: there is no folder {kind!r}", hint=_PLACES)


def _function(named: Any, where: str) -> Callable[..., Any]:
    if callable(named):
        function: Callable[..., Any] = named
        return function
    if not isinstance(named, str):
        raise ConfigError(f"{where}: a function is named as module:name")
    try:
        return load_function(named)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None
