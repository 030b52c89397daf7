"""`lmcourse data`: fetch texts, make token files of them, look into these."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from lmcourse.errors import CourseError

HELP = "Fetch texts, make token files of them for training, look into these."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_get(actions)
    _add_prepare(actions)
    _add_info(actions)


def _add_get(actions: argparse._SubParsersAction) -> None:
    text = "Download a known text. A download that broke off goes on; the checksum is compared."
    get = actions.add_parser("get", help="download a known text", description=text)
    get.add_argument("name", metavar="NAME", help="shakespeare (1 MB) or tinystories (2.2 GB)")
    get.add_argument("--out", metavar="DIR", help="folder (default: datasets/NAME)")
    get.add_argument("--mirror", metavar="URL", default="", help="address of a folder with the same files")


def _add_prepare(actions: argparse._SubParsersAction) -> None:
    text = (
        "Encode files of any size once, into memory-mapped token files that `lmcourse train --data` trains "
        "from. Kill it and give the same command again: it goes on where it was."
    )
    prepare = actions.add_parser("prepare", help="make token files of texts", description=text)
    prepare.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="files .jsonl, .jsonl.zst, .jsonl.gz, .parquet, .txt, .md, or folders of these",
    )
    prepare.add_argument("--out", metavar="DIR", required=True, help="folder to be made")
    prepare.add_argument(
        "--tokenizer", metavar="NAME", default="bpe", help="char, word, bpe, or a saved tokenizer.json"
    )
    prepare.add_argument("--vocabulary", metavar="N", default="4096", help="ids of bpe (default: 4096)")
    prepare.add_argument(
        "--validation",
        metavar="X",
        help="share that is held out (default: about two million characters, at most a tenth)",
    )
    prepare.add_argument(
        "--split",
        metavar="NAME",
        default="",
        help="what is held out: documents by the hash of their text, or the tail (default: hash; of a single "
        "text its tail)",
    )
    prepare.add_argument("--field", metavar="NAME", default="text", help="where the text is (default: text)")
    prepare.add_argument("--jobs", metavar="N", help="processes (default: one a core)")
    prepare.add_argument("--overwrite", action="store_true", help="replace other data in DIR")


def _add_info(actions: argparse._SubParsersAction) -> None:
    info = actions.add_parser("info", help="what is in prepared data or in a token file")
    info.add_argument("path", metavar="PATH", type=Path, help="a prepared folder, or one token file")
    info.add_argument("--documents", metavar="N", default="2", help="documents to show (default: 2)")
    info.add_argument("--verify", action="store_true", help="read every id and compare the checksums")


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: any mistake in the options or in the files.
    """
    return {"get": _get, "prepare": _prepare, "info": _info}[args.action](args)


def _get(args: argparse.Namespace) -> int:
    from lmcourse.data.fetch import get
    from lmcourse.data.sources import SOURCES

    if args.name not in SOURCES:
        raise CourseError(f"NAME: expected {' or '.join(SOURCES)}, got {args.name!r}")
    folder = Path(args.out or f"datasets/{args.name}")
    for source in SOURCES[args.name]:
        path = get(source, folder, sys.stderr, print, args.mirror)
        print(f"{path}: {path.stat().st_size:,} bytes; {source.terms}")
    print(f"lmcourse data prepare {folder} --out {folder}-tokens")
    return 0


def _prepare(args: argparse.Namespace) -> int:
    from lmcourse.data.info import describe_folder
    from lmcourse.data.prepare import Recipe, prepare

    recipe = Recipe(
        tokenizer=args.tokenizer,
        vocabulary=_number("--vocabulary", args.vocabulary, 1),
        validation=_share("--validation", args.validation),
        split=args.split,
        field=args.field,
    )
    jobs = _number("--jobs", args.jobs, 1) if args.jobs else os.cpu_count() or 1
    prepared = prepare(args.paths, Path(args.out), recipe, jobs, args.overwrite)
    print("\n".join([*describe_folder(prepared.folder), "", f"lmcourse train --data {prepared.folder}"]))
    return 0


def _info(args: argparse.Namespace) -> int:
    from lmcourse.data.info import describe_file, describe_folder

    documents = _number("--documents", args.documents, 0)
    describe = describe_folder if args.path.is_dir() else describe_file
    print("\n".join(describe(args.path, documents, args.verify)))
    return 0


def _number(option: str, text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise CourseError(f"{option}: expected a whole number, got {text!r}") from None
    if value < least:
        raise CourseError(f"{option}: expected at least {least}, got {value}")
    return value


def _share(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise CourseError(f"{option}: expected a number, got {text!r}") from None
