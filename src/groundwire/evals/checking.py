"""What is wrong in a suite, found before its first trial: ids, turns, patterns, paths, schemas, settings and setups.

It knows suites that were read, whoever read them, and nothing of files.
"""

import re

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ConfigError, RegistryError
from groundwire.contracts.shapes import did_you_mean, plain_members, read_as
from groundwire.evals.graders.calls import compiled
from groundwire.evals.patterns import compile_pattern
from groundwire.evals.pointers import PatchError, parse_pointer
from groundwire.evals.scenarios import (
    CallsCheck,
    Check,
    GroundingCheck,
    Scenario,
    StateCheck,
    Suite,
    TextCheck,
    said_before,
)
from groundwire.evals.stubs import StubEnvironment
from groundwire.runtime.runs.options import RunLimits
from groundwire.runtime.runs.settings import read_settings

HINT = "docs/guides/evals.md shows a scenario"
_ID = re.compile(r"[\w./:-]+")


def checked(suite: Suite, source: str) -> Suite:
    """The suite as it is; a ConfigError names what is wrong in it, with its place."""
    if not suite.scenarios:
        raise ConfigError(f"{source}: there is no scenario in it.", hint=HINT)
    seen: set[str] = set()
    for scenario in suite.scenarios:
        where = f"{source}: {scenario.id!r}"
        if not _ID.fullmatch(scenario.id):
            raise ConfigError(f"{where} is no id", hint="letters, digits and _ . / : -")
        if scenario.id in seen:
            raise ConfigError(f"{where} is there twice")
        seen.add(scenario.id)
        if not scenario.turns and scenario.user is None:
            raise ConfigError(f"{where}: nobody says anything", hint="turns, or a user")
        _check_inner(scenario, where)
    for preset, members in suite.presets.items():
        for name in members:
            if name not in seen:
                hint = did_you_mean(name, seen)
                raise ConfigError(f"{source}: presets.{preset}: there is no scenario {name!r}", hint=hint)
    return suite


def _check_inner(scenario: Scenario, where: str) -> None:
    """What would only turn out to be wrong when it is used."""
    limits: JsonObject = plain_members(scenario.limits, f"{where}: limits")
    try:
        _check_words(scenario)
        for check in scenario.checks:
            _check_check(check)
        read_settings(scenario.settings)
        read_as(RunLimits, limits, "limits")
        said_before(scenario)
        if scenario.environment == "stubs":
            StubEnvironment(scenario.setup)
    except (ConfigError, RegistryError) as error:
        raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None
    except PatchError as error:
        raise ConfigError(f"{where}: {error.message}", hint="a JSON Pointer such as /draft/title") from None


def _check_words(scenario: Scenario) -> None:
    if any(not turn.strip() for turn in scenario.turns):
        raise ConfigError("turns: a turn says nothing")
    for pattern, line in scenario.user.rules if scenario.user is not None else ():
        compile_pattern(pattern)
        if not line.strip():
            raise ConfigError(f"user: the rule for {pattern!r} says nothing")


def _check_check(check: Check) -> None:
    match check:
        case TextCheck(matches=str(pattern)):
            compile_pattern(pattern)
        case StateCheck(path=path):
            parse_pointer(path)
        case GroundingCheck(quotes=paths):
            for path in paths:
                parse_pointer(path)
        case CallsCheck(calls=calls):
            for wanted in calls:
                if wanted.schema is not None:
                    compiled(wanted)
