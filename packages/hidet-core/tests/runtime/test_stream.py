import threading

import pytest

from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import Event, Stream, Work, current, is_capturing


def test_the_default_stream_is_never_captured():
    assert not is_capturing(0)


def test_each_thread_has_a_current_stream_of_its_own(monkeypatch):
    monkeypatch.setattr(current, "handle", 7)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(current.handle))
    thread.start()
    thread.join()
    assert seen == [0]


def fails_on(stream):
    with Work("cuda:0", stream):
        assert current.handle == stream
        raise OSError("mine")


@pytest.mark.gpu
def test_work_belongs_to_its_stream_and_leaves_no_trace():
    first, second = Stream(), Stream()
    with Work("cuda:0", first.handle):
        with pytest.raises(OSError, match="mine"):
            fails_on(second.handle)
        assert current.handle == first.handle
        assert not current.capturing
    assert current.handle == 0


@pytest.mark.gpu
def test_events_order_streams():
    first, second = Stream(), Stream()
    event = Event("cuda:0")
    event.record(first.handle)
    event.hold(second.handle)
    second.synchronize()
    event.synchronize()
    call("cuCtxSynchronize")
