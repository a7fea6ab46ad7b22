"""Options of runs from what their agent and each run were given: checked, with the presets that the model needs.

Which model needs which presets is somebody else's knowledge. What is given explicitly wins over them.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.shapes import plain_members, read_as
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.presets import PRESETS, merge_settings
from groundwire.runtime.runs.prompts import output_format
from groundwire.runtime.runs.settings import TRANSFORM_LISTS, RunSettings, read_settings

PresetsOf: TypeAlias = Callable[[str], Iterable[str]]
"""The names of the presets that a model needs."""
_WHERE = "options of the run"


def no_presets(_model: str) -> Iterable[str]:
    return ()


class OptionReader:
    """`defaults` are the options of a run that changes nothing."""

    def __init__(self, given: Mapping[str, Any], presets_of: PresetsOf = no_presets) -> None:
        self._presets_of = presets_of
        self._explicit = _explicit(given["settings"])
        self.defaults = RunOptions(model="")
        self.defaults = self._read(given, {}, self._explicit)

    def read(self, changes: Mapping[str, Any]) -> RunOptions:
        """Single settings and limits change those of the agent; settings as a whole stand in their place."""
        if not changes:
            return self.defaults
        given, settings = dict(changes), self._explicit
        if "settings" in given:
            changed = _explicit(given["settings"])
            settings = {**settings, **changed} if isinstance(given["settings"], Mapping) else changed
        if isinstance(given.get("limits"), Mapping):
            given["limits"] = {**msgspec.to_builtins(self.defaults.limits), **given["limits"]}
        return self._read(given, self._defaults_json, settings)

    def as_json(self, options: RunOptions) -> JsonObject:
        return self._defaults_json if options is self.defaults else options.as_json()

    @cached_property
    def _defaults_json(self) -> JsonObject:
        return self.defaults.as_json()

    def _read(self, given: Mapping[str, Any], defaults: JsonObject, explicit: JsonObject) -> RunOptions:
        values: dict[str, Any] = {**given}
        if "output" in values:
            values["output"] = output_format(values["output"])
        if "settings" in values or "model" in values:
            presets = self._presets_of(str(values.get("model", self.defaults.model)))
            values["settings"] = _with_presets(presets, explicit)
        return read_as(RunOptions, {**defaults, **plain_members(values, _WHERE)}, _WHERE)


def _explicit(settings: RunSettings | Mapping[str, Any] | None) -> JsonObject:
    """What was really said of the settings, if it can be said."""
    checked = read_settings(settings)
    return {**settings} if isinstance(settings, Mapping) else checked.as_dict()


def _with_presets(presets: Iterable[str], explicit: JsonObject) -> RunSettings:
    """Lists of transforms are joined; one that is empty on purpose stays empty."""
    alone, named = read_settings(explicit), [PRESETS[name]() for name in presets]
    if not named:
        return alone
    emptied = {name: () for name in TRANSFORM_LISTS if name in explicit and not getattr(alone, name)}
    return read_settings({**merge_settings(*named, explicit), **emptied})
