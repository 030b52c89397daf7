"""A call is ended in time, on the main thread and off it."""

import signal
import threading
import time
from contextlib import suppress

import pytest

from lmcourse.checks.limits import TimeLimit, call_with_limit


def endless():
    while True:
        pass


def endless_and_deaf():
    """Swallows the first exceptions it gets."""
    for _ in range(3):
        with suppress(BaseException):
            endless()
    endless()


def in_thread(function, seconds):
    """What `call_with_limit` returns or raises when it is called off the main thread."""
    outcome = []

    def run():
        try:
            outcome.append(call_with_limit(function, seconds))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


def test_results_and_exceptions_pass_through():
    assert call_with_limit(lambda: 41 + 1, 5) == 42
    assert in_thread(lambda: 41 + 1, 5) == 42
    with pytest.raises(ZeroDivisionError):
        call_with_limit(lambda: 1 / 0, 5)
    assert isinstance(in_thread(lambda: 1 / 0, 5), ZeroDivisionError)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm signal")
def test_an_endless_call_is_ended_by_the_alarm():
    with pytest.raises(TimeLimit):
        call_with_limit(endless, 0.1)
    with pytest.raises(TimeLimit):
        call_with_limit(endless_and_deaf, 0.1)


def test_an_endless_call_is_ended_off_the_main_thread():
    before = threading.active_count()
    assert isinstance(in_thread(endless, 0.1), TimeLimit)
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before, "the thread of the call is gone"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm signal")
def test_the_alarm_and_its_handler_are_put_back():
    before = signal.getsignal(signal.SIGALRM)
    call_with_limit(lambda: None, 0.05)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
