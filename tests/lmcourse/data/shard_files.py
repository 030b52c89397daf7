"""Small sharded files of every kind."""

import gzip
import json
from pathlib import Path

import pyarrow
from pyarrow import parquet

KINDS = (".jsonl", ".jsonl.zst", ".parquet", ".jsonl.gz")


def lines(texts) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def write_shards(folder: Path, counts: list[int]) -> list[str]:
    """One file per count, the kinds in turn; the texts name shard and document."""
    folder.mkdir(exist_ok=True)
    everything = []
    for shard, count in enumerate(counts):
        texts = [f"document {n} of shard {shard}" for n in range(count)]
        everything += texts
        write_one(folder, f"s{shard:02d}", texts, KINDS[shard % 4])
    return everything


def write_one(folder: Path, stem: str, texts: list[str], kind: str) -> Path:
    path = folder / (stem + kind)
    if kind == ".jsonl":
        path.write_bytes(lines(texts))
    elif kind == ".jsonl.gz":
        path.write_bytes(gzip.compress(lines(texts)))
    elif kind == ".jsonl.zst":
        with pyarrow.output_stream(str(path), compression="zstd") as file:
            file.write(lines(texts))
    else:
        table = pyarrow.table({"text": pyarrow.array(texts, pyarrow.string()), "id": range(len(texts))})
        parquet.write_table(table, path, row_group_size=5, write_page_checksum=True)
    return path
