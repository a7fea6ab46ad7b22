"""Distinguishes a signal to the process, such as Ctrl-C, from an exception of the same type that called code raised.

Code that is not ours is called behind an `except BaseException`: its `SystemExit` or `KeyboardInterrupt` is a failure of
that code and must not end the process. A real Ctrl-C must.
"""

import dis
import signal
import threading
from collections.abc import Iterator
from functools import partial
from types import CodeType, TracebackType

_RAISES = frozenset(dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE"))


def is_from_signal(error: BaseException) -> bool:
    """Whether a signal handler of this process raised `error`, or an exception that `error` replaced.

    An `Exception` never counts: code that replaces an interrupt with one has handled it. Python runs signal handlers in
    the main thread only, on top of the frame that runs there.
    """
    if isinstance(error, Exception) or threading.current_thread() is not threading.main_thread():
        return False
    handlers = {code for number in signal.valid_signals() if (code := _code_of(signal.getsignal(number))) is not None}
    has_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return any(_is_raised_by(handlers, raised, has_default=has_default) for raised in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__context__


def _is_raised_by(handlers: set[CodeType], error: BaseException, *, has_default: bool) -> bool:
    last: TracebackType | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        last, trace = trace, trace.tb_next
    if not has_default or not isinstance(error, KeyboardInterrupt) or last is None:
        return False
    # Python's own handler of SIGINT leaves no frame. It never runs at a `raise`, so the instruction tells them apart.
    instructions = last.tb_frame.f_code.co_code
    return last.tb_lasti >= len(instructions) or instructions[last.tb_lasti] not in _RAISES


def _code_of(handler: object) -> CodeType | None:
    """The code of a signal handler that is written in Python."""
    while isinstance(handler, partial):
        handler = handler.func
    if not callable(handler):
        return None
    function = getattr(handler, "__func__", handler)
    code = getattr(function, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
