"""A report as an accessible HTML table that follows the notebook's theme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from lmcourse.checks.notes import local_time
from lmcourse.checks.report import COLUMNS, Report, verdict_word
from lmcourse.checks.rows import NOT_CHECKED, NOT_STARTED, PASSED, Row

# Text keeps the theme's own color; the verdict's color is only a bar beside its word.
_STYLE = """<style>
.lmcourse-check.lmcourse-check { color: var(--jp-content-font-color1, CanvasText); max-width: 72rem;
  overflow-x: auto; line-height: 1.4; }
.lmcourse-check.lmcourse-check table { border-collapse: collapse; margin: 0.3rem 0; width: 100%;
  table-layout: auto; }
.lmcourse-check.lmcourse-check caption { text-align: left; font-weight: 600; padding: 0.2rem 0;
  color: inherit; caption-side: top; }
.lmcourse-check.lmcourse-check th, .lmcourse-check.lmcourse-check td { text-align: left; vertical-align: top;
  padding: 0.35rem 0.6rem; background: none; color: inherit;
  border-bottom: 1px solid var(--jp-border-color2, rgba(128, 128, 128, 0.5)); }
.lmcourse-check.lmcourse-check tbody tr, .lmcourse-check.lmcourse-check tbody tr:hover { background: none; }
.lmcourse-check.lmcourse-check tbody th { font-weight: 400; }
.lmcourse-check.lmcourse-check pre { margin: 0; padding: 0; background: none; color: inherit;
  white-space: pre; font-family: var(--jp-code-font-family, monospace); font-size: 0.92em; }
.lmcourse-check.lmcourse-check td.verdict { font-weight: 700; white-space: nowrap;
  border-left: 4px solid var(--jp-border-color1, gray); }
.lmcourse-check.lmcourse-check td.verdict.pass { border-left-color: var(--jp-success-color1, #2e7d32); }
.lmcourse-check.lmcourse-check td.verdict.fail { border-left-color: var(--jp-error-color1, #d32f2f); }
.lmcourse-check.lmcourse-check tr.has-note > * { border-bottom: none; }
.lmcourse-check.lmcourse-check td.note { padding-top: 0; padding-left: 1.6rem; }
.lmcourse-check.lmcourse-check p { margin: 0.3rem 0; }
.lmcourse-check.lmcourse-check blockquote { margin: 0.2rem 0; color: inherit; }
</style>"""


def to_html(report: Report) -> str:
    """One `<div>`: the student's predictions, the table, and the closing line."""
    return "\n".join(
        [
            _STYLE,
            '<div class="lmcourse-check">',
            *_predictions(report),
            *(_table(report) if report.rows else ()),
            f"<p>{escape(report.summary)}</p>",
            "</div>",
        ]
    )


def _predictions(report: Report) -> Iterator[str]:
    for prediction in report.predictions:
        when = f" ({escape(local_time(prediction.time))})" if prediction.time else ""
        yield (
            f"<p>You predicted{when}: <q>{escape(prediction.answer)}</q>"
            f" to the question: {escape(prediction.question)}</p>"
        )


def _table(report: Report) -> Iterator[str]:
    yield "<table>"
    yield f"<caption>{escape(f'{report.exercise} {report.title}: public check')}</caption>"
    yield "<thead><tr>" + "".join(f'<th scope="col">{name}</th>' for name in COLUMNS) + "</tr></thead>"
    yield "<tbody>"
    for row in report.rows:
        yield from _row(row)
    yield "</tbody></table>"


def _row(row: Row) -> Iterator[str]:
    note = _note(row)
    kind = "pass" if row.state == PASSED else "open" if row.state in (NOT_STARTED, NOT_CHECKED) else "fail"
    note_class = ' class="has-note"' if note else ""
    yield (
        f"<tr{note_class}>"
        f'<th scope="row">{escape(row.case)}</th><td>{escape(row.checks)}</td>'
        f"<td>{_value(row.yours)}</td><td>{_value(row.expected)}</td>"
        f'<td class="verdict {kind}">{escape(verdict_word(row))}</td></tr>'
    )
    if note:
        yield f'<tr><td class="note" colspan="{len(COLUMNS)}">{note}</td></tr>'


def _note(row: Row) -> str:
    """What is wrong, then what can be unfolded; nothing for a row that passed."""
    folded = [("Inputs", row.inputs), ("Traceback", row.trace)]
    if row.state == PASSED:
        return ""
    parts = [f"<p>{_prose(row.message)}</p>"] if row.message else []
    parts += [
        f"<details><summary>{title}</summary><pre>{escape(text)}</pre></details>"
        for title, text in folded
        if text
    ]
    return "".join(parts)


def _prose(text: str) -> str:
    """Escaped, with `code` between backticks set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _value(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""
