"""From files of text to token files, once; a killed preparation goes on where the disk had all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lmcourse.data.encode import Chunk, chunks, encoded
from lmcourse.data.prepared import SUMMARY, TOKENIZER, Prepared, open_prepared
from lmcourse.data.progress import ByteProgress
from lmcourse.data.report import ReadReport
from lmcourse.data.shards import find_shards
from lmcourse.data.split import SPLITS, TRAIN, VALIDATION, Splitter
from lmcourse.data.survey import LISTED, Survey, survey, tokenizer_for
from lmcourse.errors import CourseError
from lmcourse.packing import TokenFileWriter
from lmcourse.tokenizers import Tokenizer, load_tokenizer
from lmcourse.tokenizers.bpe import BYTES, MAX_IDS

PLAN, PROGRESS = "prepare.json", "progress.json"
HELD_OUT = 2_000_000  # characters of the validation part where nobody names a share, at most a tenth
COMMIT = 8_000_000  # characters between two places from which a killed preparation goes on
KINDS = (*LISTED, "bpe")


@dataclass(frozen=True)
class Recipe:
    """What is made of the files.

    Attributes:
        tokenizer: "char", "word", "bpe", or a tokenizer file.
        vocabulary: ids of a new BPE tokenizer.
        validation: share that is held out; None holds out two million characters, at most a tenth.
        split: "hash" by the documents' own text, "tail" the end; "" takes the tail of a single text.
        field: of a JSON object, or column of a Parquet file, that holds the text.
    """

    tokenizer: str = "bpe"
    vocabulary: int = 4096
    validation: float | None = None
    split: str = ""
    field: str = "text"

    def __post_init__(self) -> None:
        if self.validation is not None and not 0 < self.validation < 1:
            raise CourseError(f"validation: expected a share between 0 and 1, got {self.validation}")
        if self.tokenizer == "bpe" and not BYTES < self.vocabulary <= MAX_IDS:
            raise CourseError(
                f"vocabulary: expected {BYTES + 1} (256 bytes and the end of a document) to {MAX_IDS:,} ids "
                f"for bpe, got {self.vocabulary}"
            )
        if self.split not in ("", *SPLITS):
            raise CourseError(f"split: expected {' or '.join(SPLITS)}, got {self.split!r}")
        if self.tokenizer not in KINDS and not Path(self.tokenizer).exists():
            raise CourseError(
                f"tokenizer: expected {', '.join(KINDS)} or a tokenizer file, got {self.tokenizer!r}"
            )


def prepare(
    paths: Sequence[str | Path],
    folder: Path,
    recipe: Recipe,
    jobs: int = 1,
    overwrite: bool = False,
    stream: TextIO | None = None,
) -> Prepared:
    """Write train.tokens, validation.tokens, tokenizer.json and data.json into a folder.

    The same call goes on with what a killed one left, and has nothing to do where all is there.

    Args:
        paths: files and folders, as in `find_shards`.
        folder: to be made.
        recipe: what to do.
        jobs: processes that encode.
        overwrite: replace what was made of other files, or in another way.
        stream: for the progress; None is standard error.

    Raises:
        CourseError: no text, a damaged file, a full disk, or a folder of something else.
    """
    stream = stream or sys.stderr
    shards = find_shards(paths)
    plan = {**asdict(recipe), "files": [[str(s), s.stat().st_size, s.stat().st_mtime_ns] for s in shards]}
    if recipe.tokenizer not in KINDS:
        plan["tokenizer"] = load_tokenizer(recipe.tokenizer).fingerprint
    try:
        _enter(folder, plan, overwrite)
        if not (folder / SUMMARY).exists():
            found, report = _prepare(shards, folder, recipe, jobs, stream)
            _finish(folder, found, report, shards)
        return open_prepared(folder)
    except OSError as problem:
        raise CourseError(
            f"{folder}: cannot be written ({problem.strerror or problem}); what is there stays, so make room "
            "and give the same command again"
        ) from None


def _enter(folder: Path, plan: dict[str, Any], overwrite: bool) -> None:
    """Make the folder, or find in it the same plan."""
    path = folder / PLAN
    if path.exists():
        old = _read_json(path)
        changed = [name for name in plan if old.get("plan", {}).get(name) != plan[name]]
        if not changed:
            return
        if "found" in old and not overwrite:  # without it, only a survey has begun
            raise CourseError(
                f"{folder}: holds data made with another {' and '.join(changed)}; name another folder, or "
                "replace it with --overwrite"
            )
        for name in (SUMMARY, PROGRESS, TOKENIZER, *_names(".tokens"), *_names(".partial"), PLAN):
            (folder / name).unlink(missing_ok=True)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CourseError(f"{folder}: exists already and is no prepared data; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(path, {"plan": plan})


def _prepare(
    shards: Sequence[Path], folder: Path, recipe: Recipe, jobs: int, stream: TextIO
) -> tuple[dict[str, Any], ReadReport]:
    """Survey, tokenizer and token files; what of it is there already is not done again."""
    plan = _read_json(folder / PLAN)
    if "found" not in plan:
        kind = recipe.tokenizer
        result = survey(shards, recipe.field, kind, stream)
        share, split = _division(recipe, result)
        if kind in KINDS:
            splitter = Splitter(split, share, result.characters, result.documents)
            tokenizer, words = tokenizer_for(kind, recipe.vocabulary, result, shards, recipe.field, splitter)
        else:
            tokenizer, words = load_tokenizer(kind), "another text, before"
        tokenizer.save(folder / TOKENIZER)
        found = {
            "documents": result.documents,
            "characters": result.characters,
            "split": split,
            "share": share,
            "trained_on": words,
        }
        _write_json(folder / PLAN, {**plan, "found": found})
    found = _read_json(folder / PLAN)["found"]
    tokenizer = load_tokenizer(folder / TOKENIZER)
    return found, _encode(shards, folder, recipe.field, found, tokenizer, jobs, stream)


def _division(recipe: Recipe, found: Survey) -> tuple[float, str]:
    """Share and kind of the split, where both sides get something."""
    share = recipe.validation or min(0.1, HELD_OUT / found.characters)
    split = recipe.split or ("tail" if found.documents == 1 else "hash")
    if split == "hash" and not found.lowest < share <= found.highest:
        side = VALIDATION if found.lowest >= share else TRAIN
        raise CourseError(
            f"validation: by hash none of the {found.documents:,} documents is for {side}; take another "
            "share, or --split tail"
        )
    return share, split


def _encode(
    shards: Sequence[Path],
    folder: Path,
    field: str,
    found: dict[str, Any],
    tokenizer: Tokenizer,
    jobs: int,
    stream: TextIO,
) -> ReadReport:
    done = _read_json(folder / PROGRESS) if (folder / PROGRESS).exists() else {}
    eos = tokenizer.eos_id if found["documents"] > 1 else None
    splitter = Splitter(found["split"], found["share"], found["characters"], found["documents"])
    splitter.restore(done.get("split", splitter.state()))
    report = ReadReport.from_json(done["report"]) if done else ReadReport()
    for side in (TRAIN, VALIDATION):
        if (folder / f"{side}.tokens").exists():  # killed between the completion of one and of the other
            os.replace(folder / f"{side}.tokens", folder / f"{side}.partial")
    writers = {
        side: TokenFileWriter(
            folder / f"{side}.partial", tokenizer.vocab_size, tokenizer.fingerprint, eos, done.get(side, 0)
        )
        for side in (TRAIN, VALIDATION)
    }

    def commit(chunk: Chunk) -> None:
        nonlocal report
        kept = {side: writer.commit() for side, writer in writers.items()}
        report = ReadReport.from_json(chunk.report)
        place = {"shard": chunk.shard, "after": chunk.after, "split": chunk.split, "report": chunk.report}
        _write_json(folder / PROGRESS, {**kept, **place})

    source = chunks(shards, field, splitter, report, done.get("shard", 0), done.get("after", 0))
    try:
        with ByteProgress("encoding", found["characters"], stream) as progress:
            committed, chunk = splitter.state()[0], None
            for chunk, ids in encoded(source, folder / TOKENIZER, eos, jobs):
                for side, writer in writers.items():
                    writer.append(ids[side])
                progress.reach(chunk.split[0])
                if chunk.split[0] - committed >= COMMIT:
                    commit(chunk)
                    committed = chunk.split[0]
        if chunk is not None:
            commit(chunk)
        for side, writer in writers.items():
            if not writer.count:
                raise CourseError(f"validation: nothing is left for {side}; take another share")
        for side, writer in writers.items():
            writer.finish(folder / f"{side}.tokens")
    finally:
        for writer in writers.values():
            writer.close()
    return report


def _finish(folder: Path, found: dict[str, Any], report: ReadReport, shards: Sequence[Path]) -> None:
    summary = {
        "version": 1,
        **found,
        "bad": report.bad,
        "empty": report.empty,
        "examples": [str(example) for example in report.examples],
        "sources": [str(shard) for shard in shards],
    }
    _write_json(folder / SUMMARY, summary)
    (folder / PROGRESS).unlink(missing_ok=True)


def _names(suffix: str) -> list[str]:
    return [f"{side}{suffix}" for side in (TRAIN, VALIDATION)]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise CourseError(f"{path}: damaged; remove the folder and begin anew") from None


def _write_json(path: Path, values: dict[str, Any]) -> None:
    """Whole or not at all, and on the disk."""
    partial = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(values, file, indent=1, default=np.generic.item)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
