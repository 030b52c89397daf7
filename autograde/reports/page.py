"""The frame of a report page: one file, no scripts, nothing loaded from elsewhere, light and dark."""

from __future__ import annotations

from autograde.reports.words import escaped

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --paper: #ffffff; --card: #f5f6f8;
  --line: #d5d9de; --good: #0b6b3a; --part: #8a5a00; --bad: #a3262a; --bar: #3b6fb6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a3adb8; --paper: #15181b;
  --card: #1e2227; --line: #363c43; --good: #5fd08f; --part: #e8b04a; --bad: #ff8a85; --bar: #7fb0f0; } }
body { margin: 2rem auto; max-width: 78rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.soft { color: var(--soft); } .right { color: var(--good); } .partly { color: var(--part); }
.bad { color: var(--bad); } .sum { font-size: 1.25rem; font-weight: 600; }
section.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: 1rem 1.25rem; margin: 1rem 0; }
section.card h2 { margin: 0; display: flex; justify-content: space-between; gap: 1rem; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 0; font-size: .95rem; }
th, td { text-align: left; padding: .35rem .6rem; border-top: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-top: 0; }
td.n, th.n { text-align: right; white-space: nowrap; } td.mark { white-space: nowrap; }
td { overflow-wrap: anywhere; } tr.why td { border-top: 0; padding: 0 .6rem .5rem 1.6rem; }
section.card, .overview { max-width: 60rem; } section.card table { table-layout: fixed; }
section.card th:nth-child(2) { width: 8rem; } h2 span + span { white-space: nowrap; }
section.card th.n { width: 5.5rem; }
summary { cursor: pointer; color: var(--soft); } .wide td { overflow-wrap: normal; }
.wide { overflow-x: auto; } p { margin: .5rem 0; } a { color: inherit; } code { font-size: .95em; }
.bar { display: inline-block; height: .8em; background: var(--bar); border-radius: 2px; min-width: 1px; }
"""


def page(title: str, body: str) -> bytes:
    """A whole HTML file as UTF-8; `body` is markup whose texts are escaped already."""
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "replace")


def tone(state: str) -> str:
    """The class that colors a state; the state itself is always written out beside it."""
    return {"right": "right", "partly": "partly", "not_attempted": "soft"}.get(state, "bad")
