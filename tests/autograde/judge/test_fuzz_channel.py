"""Fuzz of what arrives from a worker: any bytes, tree or sequence of frames. Never a crash or a mark."""

import json
import socket
import struct
from contextlib import suppress
from types import SimpleNamespace

import pytest
import small_course
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograde.judge.limits import Limits, Watch
from autograde.judge.remote import RemoteAnswer, RemoteWorker
from autograde.judge.score import score
from autograde.judge.verdict import STATES
from autograde.worker import codec, frames

EXERCISES = small_course.hidden_exercises()
LIMITS = Limits(cell_seconds=1.0, patience=0.1)
CAPS = codec.Caps(bytes=2**16, nodes=2_000)
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
)  # nan and surrogates too
kinds = st.sampled_from(["l", "t", "d", "s", "b", "g", "z", "f", "c", "T", "a", "x", "S", "n", "", "?"])
dtypes = st.sampled_from(["int64", "float32", "bool", "bfloat16", "object", "U7", "float128"])
trees = st.recursive(
    leaves | dtypes,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(kinds, inner, max_size=3)
        | st.fixed_dictionaries(
            {"T": dtypes, "S": st.lists(st.integers(-1, 2**40), max_size=4), "n": st.integers(-1, 2**40)}
        )
        | st.fixed_dictionaries({"d": st.lists(st.lists(inner, max_size=3), max_size=4)})
    ),
    max_leaves=20,
)


def packed(tree, rest=b""):
    text = json.dumps(tree).encode("ascii")
    return struct.pack(">I", len(text)) + text + rest


@SLOW
@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_bad_message(data):
    with suppress(codec.BadMessage):
        codec.loads(data, caps=CAPS)


@SLOW
@given(trees, st.binary(max_size=64))
def test_any_tree_is_a_value_or_a_bad_message(tree, rest):
    try:
        value = codec.loads(packed(tree, rest), caps=CAPS)
    except codec.BadMessage:
        return
    assert codec.dumps(value)  # what was accepted is plain data again


plain = st.recursive(
    leaves.filter(lambda v: not isinstance(v, float) or v == v)
    | st.fractions()
    | st.binary(max_size=9)
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


@SLOW
@given(plain)
def test_plain_data_arrives_as_it_left(value):
    arrived = codec.loads(codec.dumps(value))
    assert arrived == value and type(arrived) is type(value)


def test_keys_that_collide_cost_no_more_than_a_moment():
    """Each key has the same hash: putting them into one table would compare them all with each other."""
    table = {"d": [[i * (2**61 - 1), 0] for i in range(3_000)]}
    members = {"s": [i * (2**61 - 1) for i in range(3_000)]}
    for tree in (table, members):
        with pytest.raises(codec.BadMessage, match="collide"):
            codec.loads(packed(tree))
    honest = {i: i for i in range(-1, 9_000)} | {str(i): i for i in range(900)}
    assert codec.loads(codec.dumps(honest)) == honest


class Fake:
    """A worker's process that is always there and counts what is done to it."""

    library = "/nowhere"
    killed = 0

    def __init__(self, channel):
        self.channel = channel

    def ended(self):
        return False

    def wait(self, seconds):
        return False

    def kill(self):
        Fake.killed += 1
        self.channel.close()
        return -9


def conversation(chunks):
    """A remote worker at whose other end these bytes lie ready, and then nothing more."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0.05)
    worker = RemoteWorker.__new__(RemoteWorker)
    worker.limits, worker.ended, worker.isolation = LIMITS, None, "process"
    worker.started = Fake(ours)
    watch = Watch.__new__(Watch)
    watch.limits, watch.used_disk, watch.disk_look = LIMITS, lambda: 0, 0.0
    watch.peak_bytes, watch.base_bytes, watch.cpu_seconds, watch.charged_seconds = 0, 0, 0.0, 0.0
    watch.process = SimpleNamespace()
    watch.look = lambda: None
    worker.watch = watch
    theirs.setblocking(False)
    for chunk in chunks:
        try:
            theirs.send(chunk)
        except OSError:
            break
    theirs.close()
    return worker


def framed(payload):
    return frames.HEADER.pack(len(payload)) + payload


messages = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(framed),
    trees.map(lambda tree: framed(packed(tree))),
    st.fixed_dictionaries(
        {},
        optional={
            "seq": st.text(max_size=16) | st.integers(),
            "kind": st.sampled_from(["reply", "callback", "forbidden", "ready", "", "?"]) | st.none(),
            "name": st.text(max_size=9) | st.none(),
            "body": st.binary(max_size=30) | plain,
            "payload": st.binary(max_size=30),
        },
    ).map(lambda message: framed(codec.dumps(message))),
)


@SLOW
@given(st.lists(messages, max_size=5), st.sampled_from(["W1.2", "W1.3", "W1.7", "W1.8"]))
def test_no_sequence_of_frames_is_worth_a_point(chunks, exercise_id):
    """Nothing that was written before the question can carry its number."""
    worker = conversation(chunks)
    exercise = EXERCISES[exercise_id]
    verdict = score(exercise, RemoteAnswer(exercise, worker), seed=5)
    assert verdict.state in STATES and not verdict.points, verdict
    assert verdict.state != "harness_fault", verdict.message
    assert worker.ended is not None


bodies = st.dictionaries(
    st.sampled_from(["value", "error", "changed", "manners", "points", "state", "kind"]), plain, max_size=5
)


@SLOW
@given(bodies)
def test_any_body_of_a_reply_is_checked_before_it_is_used(body):
    """A worker that knows the number of the question may still say anything."""
    exercise = EXERCISES["W1.3"]
    worker = conversation([])
    worker.ask = lambda request, seconds, callbacks=None: (
        {name: True for name in exercise.spec.names} if request["kind"] == "defined" else body
    )
    verdict = score(exercise, RemoteAnswer(exercise, worker), seed=5)
    assert verdict.state in STATES and verdict.state != "harness_fault", verdict.message
    assert not verdict.points
    worker.close()
