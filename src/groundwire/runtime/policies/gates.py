"""Gates: feature flags that must be on before a tool may run."""

import logging

import msgspec

from groundwire.contracts.decisions import ALLOW, Allow, Answer, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.ports import Flags
from groundwire.contracts.tools import Gate

log = logging.getLogger("groundwire")


def through_gates(name: str, gates: tuple[Gate, ...], flags: Flags) -> Allow | Deny | Answer:
    """The first closed gate decides: with its own answer where it has one, else with a refusal."""
    for gate in gates:
        if _is_on(flags, gate.flag):
            continue
        if gate.answer is not msgspec.UNSET:
            return Answer(data=gate.answer)
        return Deny(
            type=ErrorType.PERMANENT,
            detail=ErrorDetail.DISABLED,
            message=f"{name} is switched off at the moment. Go on without it.",
            operator=f"gate {gate.flag} is off",
        )
    return ALLOW


def _is_on(flags: Flags, flag: str) -> bool:
    """A flag that cannot be read counts as off."""
    try:
        return flags.is_on(flag)
    except BaseException as error:  # the application's code
        if is_from_signal(error):
            raise
        log.exception("Could not read flag %s; it counts as off.", flag)
        return False
