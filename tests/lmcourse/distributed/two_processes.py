"""Two processes of one script, waited for together."""

import subprocess
import sys
from pathlib import Path

import torch


def run_two(script: str, folder: Path) -> list[dict]:
    """Run SCRIPT RANK 2 FOLDER for both ranks; what they left in rank0.pt and rank1.pt."""
    path = Path(__file__).with_name(script)
    processes = [
        subprocess.Popen([sys.executable, path, str(rank), "2", folder], stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    try:
        errors = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], errors
    return [torch.load(folder / f"rank{rank}.pt") for rank in (0, 1)]
