import json
from collections import Counter
from itertools import chain

import pytest
from shard_files import lines, write_shards

from lmcourse.data import ShardedStream
from lmcourse.data.loader import StreamLoader
from lmcourse.data.order import permutation, units_of
from lmcourse.errors import CourseError

COUNTS = [7, 0, 13, 1, 29]


@pytest.fixture
def folder(tmp_path):
    write_shards(tmp_path / "shards", COUNTS)
    return tmp_path / "shards"


def ids(documents):
    return [(d.shard, d.number) for d in documents]


ALL = sorted((shard, n) for shard, count in enumerate(COUNTS) for n in range(1, count + 1))


def consumers(folder, world, workers, **settings):
    return [
        ShardedStream([folder], rank=r, world=world, worker=w, workers=workers, buffer=4, **settings)
        for r in range(world)
        for w in range(workers)
    ]


@pytest.mark.parametrize("world", [1, 2, 3, 9])
@pytest.mark.parametrize("workers", [1, 2, 3, 11])
def test_every_document_once_an_epoch_over_ranks_and_workers(folder, world, workers):
    streams = consumers(folder, world, workers, seed=3)
    epochs = []
    for _ in range(3):
        parts = [ids(stream) for stream in streams]
        assert sorted(chain(*parts)) == ALL  # as lists: nothing twice, nothing missing
        epochs.append(parts)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    again = consumers(folder, world, workers, seed=3)
    assert [[ids(stream) for stream in again] for _ in range(3)] == epochs
    other = consumers(folder, world, workers, seed=4)
    assert [ids(stream) for stream in other] != epochs[0]


@pytest.mark.parametrize(("shards", "all_consumers"), [(1, 1), (1, 6), (5, 2), (6, 3), (3, 8), (7, 4)])
def test_consumers_differ_by_less_than_a_shard(shards, all_consumers):
    size = 40  # records in every shard
    shares = []
    for consumer in range(all_consumers):
        units = units_of(shards, all_consumers, consumer, seed=1, epoch=2)
        numbers = [n for u in units for n in range(1, size + 1) if n % u.lanes == u.lane]
        shares.append(len(numbers))
    assert sum(shares) == shards * size
    assert max(shares) - min(shares) <= shards % all_consumers  # a record of each shard that is read by all


def test_more_consumers_than_documents_leaves_some_empty(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(["x", "y"]))
    parts = [ids(stream) for stream in consumers(tmp_path / "a.jsonl", 3, 2)]
    assert sorted(chain(*parts)) == [(0, 1), (0, 2)] and parts.count([]) == 4


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("stop", range(0, 30))
def test_a_resumed_stream_gives_the_identical_rest(folder, world, stop):
    """Two resumes in a row, each from the state as JSON, over two epochs, wherever the stops lie."""

    def endless(stream):
        while True:
            yield from stream

    def take(stream, n):
        documents = endless(stream)
        return ids(next(documents) for _ in range(n))

    straight = consumers(folder, world, 1)[-1]
    expected = take(straight, 70)
    found = []
    stream = consumers(folder, world, 1)[-1]
    for n in (stop, stop + 3, 70 - 2 * stop - 3):
        found += take(stream, n)
        state = json.loads(json.dumps(stream.state_dict()))
        stream = consumers(folder, world, 1)[-1]
        stream.load_state_dict(state)
    assert found == expected
    assert stream.cursor == straight.cursor


def test_a_state_saved_exactly_at_the_end_begins_the_next_epoch(folder):
    stream = consumers(folder, 1, 1)[0]
    documents = iter(stream)
    first = ids(next(documents) for _ in range(len(ALL)))  # the last is given, the end is not yet noticed
    resumed = consumers(folder, 1, 1)[0]
    resumed.load_state_dict(stream.state_dict())
    second = ids(resumed)
    assert sorted(first) == sorted(second) == ALL and first != second
    both = consumers(folder, 1, 1)[0]
    assert [ids(both), ids(both)] == [first, second]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world": 3}, "world: .* saved with 2, here it is 3"),
        ({"workers": 2}, "workers: .* saved with 1, here it is 2"),
        ({"rank": 0}, "consumer: .* saved with 1, here it is 0"),
        ({"seed": 5}, "seed"),
        ({"buffer": 7}, "buffer"),
        ({"field": "body"}, "field"),
    ],
)
def test_a_state_of_another_order_is_refused(folder, change, message):
    settings = {"rank": 1, "world": 2, "buffer": 4}
    state = ShardedStream([folder], **settings).state_dict()
    with pytest.raises(CourseError, match=message):
        ShardedStream([folder], **(settings | change)).load_state_dict(state)


def test_a_state_of_other_files_is_refused(folder):
    state = ShardedStream([folder]).state_dict()
    with open(folder / "s00.jsonl", "ab") as file:
        file.write(lines(["new"]))
    with pytest.raises(CourseError, match="files: "):
        ShardedStream([folder]).load_state_dict(state)


def test_bad_records_do_not_move_the_others_and_are_counted_once(folder):
    with open(folder / "s00.jsonl", "ab") as file:
        file.write(b"oops\n")
    streams = consumers(folder, 2, 2)
    assert sorted(chain(*map(ids, streams))) == ALL
    assert sum(stream.report.bad for stream in streams) == 1
    assert sorted(chain(*map(ids, streams))) == ALL


@pytest.mark.parametrize(
    "wrong", [{"rank": 2, "world": 2}, {"worker": -1}, {"seed": -1}, {"buffer": 0}, {"world": 0}]
)
def test_impossible_settings_are_one_line(folder, wrong):
    with pytest.raises(CourseError, match=next(iter(wrong)) if "world" not in wrong else "rank"):
        ShardedStream([folder], **wrong)


def test_keys_of_permutations_do_not_run_into_each_other():
    """To numpy's seeds a missing number is a zero, and -1 is refused."""
    keys = [(s, e, p, c, b) for s in (0, 1) for e in (0, 1) for p in (0, 1) for c in (0, 1) for b in (0, 1)]
    assert len({tuple(permutation(20, *key).tolist()) for key in keys}) == len(keys)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than cores are meant
@pytest.mark.parametrize("workers", [0, 2, 3])
def test_loader_workers_give_each_document_once_and_resume(folder, workers):
    def loader(rank):
        return StreamLoader([folder], workers=workers, rank=rank, world=2, buffer=4)

    with open(folder / "s00.jsonl", "ab") as file:
        file.write(b"oops\n")
    straight = [loader(rank) for rank in range(2)]
    epochs = [[ids(one) for one in straight]]
    assert sum(one.report.bad for one in straight) == 1
    epochs.append([ids(one) for one in straight])
    assert [sorted(chain(*parts)) for parts in epochs] == [ALL, ALL] and epochs[0] != epochs[1]

    for rank in range(2):
        first, then = epochs[0][rank], epochs[1][rank]
        for stop in (0, 5, len(first)):
            one = loader(rank)
            documents = iter(one)
            got = ids(next(documents) for _ in range(stop))
            resumed = loader(rank)
            resumed.load_state_dict(json.loads(json.dumps(one.state_dict())))
            if stop == len(first):
                assert got == first and ids(resumed) == then
            else:
                assert Counter(got + ids(resumed)) == Counter(first) and ids(resumed) == then


def test_another_number_of_loader_workers_is_refused(folder):
    state = StreamLoader([folder], workers=2).state_dict()
    with pytest.raises(CourseError, match=r"workers: .* saved with 2, here it is 3"):
        StreamLoader([folder], workers=3).load_state_dict(state)
