"""The matrix as a table for a terminal: one column a property, one row a solution."""

from __future__ import annotations

from autograde.matrix.rows import Matrix, Row

KILLS, FLICKERS, HOLDS = "x", "~", "."
LEGEND = f"{KILLS} fails under every seed   {FLICKERS} fails under some seeds   {HOLDS} holds"


def render(matrix: Matrix) -> str:
    """Columns are numbered in the order of the hidden tests and explained above the table."""
    numbers = {name: number for number, name in enumerate(matrix.properties, start=1)}
    lines = [f"{matrix.exercise} {matrix.title}, {matrix.points:g} points"]
    lines += [f"  {number:>2}  {name} ({matrix.properties[name]:.3g})" for name, number in numbers.items()]
    width = max(len(row.name) for row in matrix.rows)
    head = " ".join(f"{number:>2}" for number in numbers.values())
    lines.append(f"  {'':9}  {'':{width}}  {head}  points")
    for row in matrix.rows:
        marks = " ".join(f"{_mark(row, name):>2}" for name in numbers)
        fault = row.fault(matrix.points)
        lines.append(
            f"  {row.kind:9}  {row.name:{width}}  {marks}  {_points(row)}{_remark(row, numbers)}"
            + (f"   <-- {fault}" if fault else "")
        )
    lines += [f"  kills nothing: {name}" for name in matrix.idle]
    return "\n".join(lines)


def _mark(row: Row, name: str) -> str:
    return KILLS if name in row.kills else FLICKERS if name in row.flickers else HOLDS


def _points(row: Row) -> str:
    shown = ["fault" if points is None else f"{points:.4g}" for points in row.points]
    return shown[0] if len(set(shown)) == 1 else " / ".join(shown)


def _remark(row: Row, numbers: dict[str, int]) -> str:
    """What the columns cannot say: a solution that was not scored property by property."""
    outside = not any(name in numbers for name in (*row.kills, *row.flickers))
    return f"   {row.remark.splitlines()[0][:80]}" if outside and row.remark else ""
