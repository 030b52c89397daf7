import socket
import threading

import pytest

from autograde.worker import frames


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    left.settimeout(0.02)
    yield left, right
    left.close()
    right.close()


class TooLong(Exception):
    pass


def after(n_ticks):
    left = iter(range(n_ticks))

    def tick():
        if next(left, None) is None:
            raise TooLong

    return tick


def test_frames_arrive_whole_and_in_order(pair):
    left, right = pair
    payloads = [b"", b"x", bytes(range(256)) * 9000]
    sender = threading.Thread(target=lambda: [frames.send(right, p) for p in payloads])
    sender.start()
    assert [frames.receive(left) for _ in payloads] == payloads
    sender.join()


def test_a_frame_above_the_limit_is_not_read(pair):
    left, right = pair
    right.sendall(frames.HEADER.pack(2**60))
    with pytest.raises(frames.Oversized):
        frames.receive(left)


@pytest.mark.parametrize("beginning", [b"", b"\0\0", frames.HEADER.pack(10) + b"half"])
def test_the_end_of_the_stream_is_closed(pair, beginning):
    left, right = pair
    right.sendall(beginning)
    right.close()
    with pytest.raises(frames.Closed):
        frames.receive(left)


def test_silence_is_ended_by_the_tick(pair):
    with pytest.raises(TooLong):
        frames.receive(pair[0], after(3))


def test_a_peer_that_drips_bytes_is_ended_by_the_tick(pair):
    left, right = pair
    right.sendall(frames.HEADER.pack(1000) + b"a" * 50)
    taken = iter(range(5))

    def tick():
        right.sendall(b"b")
        if next(taken, None) is None:
            raise TooLong

    with pytest.raises(TooLong):
        frames.receive(left, tick)


def test_a_peer_that_never_reads_is_ended_by_the_tick(pair):
    with pytest.raises(TooLong):
        frames.send(pair[0], b"x" * 50_000_000, after(20))


def test_sending_to_nobody_is_closed(pair):
    pair[1].close()
    with pytest.raises(frames.Closed):
        frames.send(pair[0], b"x" * 5_000_000)
