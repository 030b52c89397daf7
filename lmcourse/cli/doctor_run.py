"""What `lmcourse doctor --run RUN` says: is this curve normal?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmcourse.figures.run_data import RunData
    from lmcourse.monitor.diagnosis import Finding


def examine_run(name: str) -> int:
    """Print the findings. Exit status 0 where all is normal, else 1.

    Raises:
        CourseError: no run there, or none of its steps is done.
    """
    from lmcourse.cli.train import find_run
    from lmcourse.figures.run_data import read_run

    run = read_run(find_run(name))
    found = findings(run)
    print(f"{run.folder}: {len(run.records)} of {run.config.steps} steps")
    for finding in found:
        print(f"{'ok  ' if finding.fine else 'LOOK'} {finding.name}: {finding.words}")
        if finding.next:
            print(f"     next: {finding.next}")
    strange = sum(not finding.fine for finding in found)
    print("nothing looks unusual" if not strange else f"{strange} of {len(found)} checks say: look here")
    return 1 if strange else 0


def findings(run: RunData) -> list[Finding]:
    """All checks, and the comparison with recorded runs where the configuration is a shipped one."""
    from lmcourse.experiments.reference_bands import band_for
    from lmcourse.monitor.diagnosis import Curves, Finding, examine

    steps, smoothed = run.column("step"), run.smoothed_loss()
    curves = Curves(
        steps=steps,
        losses=run.column("loss"),
        smoothed=smoothed,
        norms=run.column("gradient_norm"),
        validation=run.validation()[1],
        lines=run.lines,
        warmup=run.config.warmup,
        clip=run.config.clip,
        tables=run.tables,
        events=run.events,
    )
    found = examine(curves)
    band = band_for(run.config)
    if band is None:
        return found
    outside = band.outside(dict(zip(map(int, steps), map(float, smoothed), strict=True)))
    usual = f"the shipped {band.corpus} configuration over {len(band.seeds)} seeds"
    if not outside:
        return [*found, Finding(True, "recorded runs", f"the loss is within what {usual} did")]
    step, loss, low, high = outside[0]
    words = f"at step {step} the loss is {loss:.3f}; {usual} had {low:.3f} to {high:.3f}"
    return [*found, Finding(False, "recorded runs", words, "compare lmcourse show RUN with a fresh run")]
