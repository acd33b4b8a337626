"""The cycle collector rests while kernels are made, and only then."""

import gc
import threading

import pytest

from hidet.build.planning.collector import collector_paused


def test_it_rests_in_the_block_and_goes_on_after_it():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(ValueError, match="x"), collector_paused():
        raise ValueError("x")
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_rests_until_the_last_thread_is_done():
    entered, leave = threading.Event(), threading.Event()

    def work():
        with collector_paused():
            entered.set()
            leave.wait(300)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(300)
    with collector_paused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
