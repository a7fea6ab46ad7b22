"""The main process of several workers. As real processes: `tests/gateway/test_signals.py`."""

import pytest
from granian.constants import Interfaces

from groundwire.serving.running import _Workers


@pytest.mark.parametrize("handler", ["signal_handler_interrupt", "signal_handler_reload"])
def test_a_signal_upon_a_main_loop_that_begins_to_wait_wakes_it(handler):
    """The handler runs on top of the frame that holds the event's lock, and must not ask for it."""
    server = _Workers("groundwire", interface=Interfaces.RSGI)
    server.check = lambda: None
    with server.main_loop_interrupt._cond:
        getattr(server, handler)()
    assert server.main_loop_interrupt.wait(5)
