"""`lmcourse sample`: text from a trained run."""

from __future__ import annotations

import argparse
import sys

from lmcourse.errors import CourseError

HELP = "Let a trained model write."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run, or its name below runs/")
    parser.add_argument(
        "--prompt", metavar="TEXT", help="text to continue (default: the start of a held-out text)"
    )
    parser.add_argument("--tokens", metavar="N", default="120", help="most tokens to add (default: 120)")
    parser.add_argument(
        "--temperature",
        metavar="X",
        default="1.0",
        help="below 1 safer, above 1 wilder, 0 always the likeliest (default: 1.0)",
    )
    parser.add_argument("--top-k", metavar="K", help="choose among the K likeliest tokens (default: all)")
    parser.add_argument(
        "--top-p",
        metavar="P",
        default="1.0",
        help="choose among the fewest tokens that have this probability together (default: 1.0, all)",
    )
    parser.add_argument("--seed", metavar="N", default="0", help="of the choices (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Exit status 0.

    Raises:
        CourseError: no sound run there, a prompt that its tokenizer cannot spell, or a wrong option.
    """
    tokens = _number("--tokens", args.tokens, int)
    temperature = _number("--temperature", args.temperature, float)
    top_k = None if args.top_k is None else _number("--top-k", args.top_k, int)
    top_p = _number("--top-p", args.top_p, float)
    seed = _number("--seed", args.seed, int)

    from lmcourse.cli.train import find_run
    from lmcourse.evaluation import generate
    from lmcourse.trainer.batches import generator_for
    from lmcourse.trainer.loop import load_model

    model, data = load_model(find_run(args.run), lambda line: print(line, file=sys.stderr))
    if args.prompt is None:
        prompt = data.opening()
    elif data.tokenizer is None:
        prompt = [_number("--prompt", word, int) for word in args.prompt.split()]
    else:
        prompt = data.tokenizer.encode(args.prompt)
    added = generate(model, prompt, tokens, generator_for(seed), temperature, top_k, top_p, stop=data.eos)
    print(data.describe([*prompt, *added]))
    return 0


def _number(option: str, text: str, kind: type) -> int | float:
    try:
        value = kind(text)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise CourseError(f"{option}: expected {wanted}, got {text!r}") from None
    if value < 0 or value != value:
        raise CourseError(f"{option}: expected 0 or more, got {text}")
    return value
