"""Frames on a stream socket: 8 bytes of length, then the payload. Both ends of the channel use this file."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

HEADER = struct.Struct(">Q")
MAX_FRAME = 65 * 2**20


class Closed(Exception):
    """The other end closed the channel."""


class Oversized(Exception):
    """The other end announced a frame longer than allowed; its payload is not read."""


def send(channel: socket.socket, payload: bytes, tick: Callable[[], None] | None = None) -> None:
    """Write one frame. `tick` runs between parts and whenever the socket's time-out passes.

    It ends the wait by raising, also against a peer that takes or gives a byte at a time.

    Raises:
        Closed: nobody is there to read.
    """
    rest = memoryview(HEADER.pack(len(payload)) + payload)
    while rest:
        if tick is not None:
            tick()
        try:
            rest = rest[channel.send(rest) :]
        except TimeoutError:
            continue
        except OSError as error:
            raise Closed from error


def receive(channel: socket.socket, tick: Callable[[], None] | None = None, limit: int = MAX_FRAME) -> bytes:
    """Read one frame of at most `limit` bytes.

    Raises:
        Closed: the stream ended, also in the middle of a frame.
        Oversized: the announced length is above `limit`.
    """
    (length,) = HEADER.unpack(_exactly(channel, HEADER.size, tick))
    if length > limit:
        raise Oversized
    return bytes(_exactly(channel, length, tick))


def _exactly(channel: socket.socket, n_bytes: int, tick: Callable[[], None] | None) -> bytearray:
    data = bytearray()
    while len(data) < n_bytes:
        if tick is not None:
            tick()
        try:
            part = channel.recv(min(n_bytes - len(data), 2**20))
        except TimeoutError:
            continue
        except OSError as error:
            raise Closed from error
        if not part:
            raise Closed
        data += part
    return data
