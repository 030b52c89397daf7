"""Our trainer beside others on the same text, tokens and parameters: speed, and quality at equal cost.

The work is tiny Shakespeare by characters, 4 layers, 4 heads, width 128, 0.80 million parameters. Runs of all
contenders alternate, each in a process of its own, all with one torch. litgpt and the Hugging Face Trainer
are installed from their packages into a private environment; nanoGPT is no package, so its *recipe* is
written anew (benchmarks/peers/nanogpt_recipe.py). Prints the tables, and writes them to training.md:

    python -m benchmarks.training --text tinyshakespeare.txt [--only speed,time,tokens,mask,neighbors]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from pathlib import Path

from benchmarks.peers.environment import peers_python, versions
from benchmarks.peers.long_rows import long_rows
from benchmarks.peers.neighbors import neighbors
from benchmarks.peers.sections import equal_time, equal_tokens, speed

OUTPUT = Path(__file__).with_suffix(".md")
TITLE = "# The trainer beside others"
SECTIONS = {
    "speed": "Speed",
    "time": "Quality at equal time",
    "tokens": "Quality at equal tokens",
    "mask": "Document mask in long rows",
    "neighbors": "Busy neighbors",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Our trainer beside others.")
    parser.add_argument(
        "--text", type=Path, required=True, help="tiny Shakespeare (lmcourse data get shakespeare)"
    )
    parser.add_argument(
        "--only", default=",".join(SECTIONS), help="sections, by comma (default: %(default)s)"
    )
    parser.add_argument(
        "--peers", type=Path, default=Path("build/peers"), help="folder of the peers' environment"
    )
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    if unknown := set(wanted) - set(SECTIONS):
        parser.error(f"--only: expected some of {', '.join(SECTIONS)}, got {', '.join(sorted(unknown))}")
    text = arguments.text.resolve()
    python = peers_python(arguments.peers.absolute()) if "speed" in wanted else None
    make = {
        "speed": lambda: speed(text, python),
        "time": lambda: equal_time(text),
        "tokens": lambda: equal_tokens(text),
        "mask": long_rows,
        "neighbors": lambda: neighbors(text),
    }
    for name in wanted:
        body = f"{make[name]()}\n\n{machine(versions(python))}"
        print(body, flush=True)
        write(name, body)


def machine(packages: str) -> str:
    python = platform.python_version()
    return f"Measured with {packages}, Python {python}, on {processor()}, {os.cpu_count()} cores."


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    flags = next((line for line in lines if line.startswith("flags")), "")
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags.split()]
    name = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "a processor"
    )
    return f"{name} ({', '.join(known)})"


def write(name: str, body: str) -> None:
    """Put a section into the file in the place of its last edition; the others stay."""
    old = OUTPUT.read_text(encoding="utf-8") if OUTPUT.exists() else TITLE
    parts = {
        part.split("\n", 1)[0]: part.strip()
        for part in re.split(r"(?m)^(?=## )", old)
        if part.startswith("## ")
    }
    parts[f"## {SECTIONS[name]}"] = body
    kept = [parts[heading] for heading in (f"## {title}" for title in SECTIONS.values()) if heading in parts]
    OUTPUT.write_text("\n\n".join([TITLE, *kept]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
