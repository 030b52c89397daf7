"""Data at scale: sharded files as streams of documents, token files made from them, downloads."""

from lmcourse.data.report import BadRecord, ReadReport
from lmcourse.data.shards import find_shards, read_shard
from lmcourse.data.stream import Document, ShardedStream

__all__ = ["BadRecord", "Document", "ReadReport", "ShardedStream", "find_shards", "read_shard"]
