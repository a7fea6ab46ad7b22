import functools
import signal
import threading
import time

import pytest

from groundwire.contracts.interrupts import is_from_signal


@pytest.fixture
def handled():
    """Sets a signal handler for the test; the earlier ones are back afterwards."""
    earlier = {}

    def handle(number, handler):
        earlier.setdefault(number, signal.getsignal(number))
        signal.signal(number, handler)

    yield handle
    for number, handler in earlier.items():
        signal.signal(number, handler)


def caught(function, *arguments):
    try:
        function(*arguments)
    except BaseException as error:  # noqa: BLE001 - what is asked about
        return error
    raise AssertionError("nothing was raised")


def send(number):
    signal.raise_signal(number)


def send_while_waiting(number):
    timer = threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, number))
    timer.start()
    threading.Event().wait(60)


def send_while_busy(number):
    threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, number)).start()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass


def replace(number):
    try:
        send(number)
    except (KeyboardInterrupt, SystemExit):
        raise SystemExit(3)  # noqa: B904 - the interrupt is its context


SENDERS = [send, send_while_waiting, send_while_busy, replace]


@pytest.mark.parametrize("sender", SENDERS)
def test_an_interrupt_from_the_keyboard_is_from_a_signal(handled, sender):
    handled(signal.SIGINT, signal.default_int_handler)
    assert is_from_signal(caught(sender, signal.SIGINT))


def leave(number, frame):
    raise SystemExit(0)


class Leaving:
    def __call__(self, number, frame):
        raise KeyboardInterrupt

    def leave(self, number, frame):
        leave(number, frame)


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("handler", [leave, functools.partial(leave), Leaving(), Leaving().leave])
def test_what_a_handler_of_a_signal_raises_is_from_a_signal(handled, handler, sender):
    handled(signal.SIGTERM, handler)
    assert is_from_signal(caught(sender, signal.SIGTERM))


def raise_it(error):
    raise error


def raise_it_again(error):
    try:
        raise_it(error)
    except BaseException:
        time.monotonic()
        raise


@pytest.mark.parametrize("raiser", [raise_it, raise_it_again])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException, ValueError])
@pytest.mark.parametrize("handler", [signal.default_int_handler, leave, signal.SIG_DFL])
def test_what_code_raises_itself_is_not(handled, handler, error, raiser):
    handled(signal.SIGINT, handler)
    assert not is_from_signal(caught(raiser, error()))


def test_an_interrupt_that_was_made_into_an_ordinary_error_is_not(handled):
    handled(signal.SIGINT, signal.default_int_handler)

    def replace_by_an_error():
        try:
            send(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("handled") from None

    assert not is_from_signal(caught(replace_by_an_error))


def test_no_exception_of_another_thread_is(handled):
    handled(signal.SIGINT, signal.default_int_handler)
    error = caught(send, signal.SIGINT)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(is_from_signal(error)))
    thread.start()
    thread.join()
    assert answers == [False]


def test_a_chain_of_exceptions_that_goes_round_has_an_end():
    first, second = KeyboardInterrupt(), SystemExit()
    first.__context__, second.__context__ = second, first
    assert not is_from_signal(first)
