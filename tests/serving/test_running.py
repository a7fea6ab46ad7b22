"""The main process of several workers. As real processes: `tests/gateway/test_signals.py`."""

import threading

import pytest
from granian.constants import Interfaces

from groundwire.serving.running import _Workers

SIGNALS = ["signal_handler_interrupt", "signal_handler_reload"]


@pytest.fixture
def server():
    made = _Workers("groundwire", interface=Interfaces.RSGI)
    made.check = lambda: None
    return made


@pytest.mark.parametrize("handler", SIGNALS)
def test_a_signal_that_came_before_the_main_loop_waits_wakes_it(server, handler):
    getattr(server, handler)()
    server.main_loop_interrupt.clear()  # as at the end of a reload that was under way
    assert server.main_loop_interrupt.wait(0)


@pytest.mark.parametrize("handler", SIGNALS)
def test_a_signal_wakes_a_main_loop_that_waits(server, handler):
    woken = threading.Event()
    waiting = threading.Thread(target=lambda: server.main_loop_interrupt.wait(30) and woken.set())
    waiting.start()
    getattr(server, handler)()
    waiting.join(30)
    assert woken.is_set()


def test_a_main_loop_that_was_woken_for_nothing_waits_again(server):
    server.main_loop_interrupt.set()
    assert server.main_loop_interrupt.wait(0)
    assert not server.main_loop_interrupt.wait(0)


def test_two_reloads_at_once_are_made_and_the_main_loop_comes_to_rest(server):
    """It turned round and round without a reason once."""
    reloads, turns = [], []
    server._respawn_workers = lambda *args, **options: reloads.append(
        server.signal_handler_reload() if not reloads else 0
    )
    wakes = server.main_loop_interrupt
    waits = wakes.wait

    def wait(timeout=None):
        turns.append(1)
        if len(reloads) == 2 and not waits(0.2):
            server.signal_handler_interrupt()
        return waits(timeout)

    wakes.wait = wait
    server.signal_handler_reload()
    server._serve_loop(None, None)
    assert len(reloads) == 2
    assert len(turns) <= 5
