"""One self-contained HTML page: tables, pictures and what was left out."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .section import Grid, Picture, Section

CSS = """
:root { --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de; --paper: #f6f8fa; --link: #0072b2; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: #fff;
  max-width: 58rem; margin: 0 auto; padding: 1rem 1.1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
a { color: var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .8rem 0; }
code { font-size: .9em; background: var(--paper); padding: .1em .3em; border-radius: 3px; }
.quiet, figcaption { color: var(--quiet); font-size: .9rem; }
.left-out { border-left: 4px solid #d55e00; background: #fdf3ec; padding: .5rem .9rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 1rem 0; }
figure .scroll { margin: 0; }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; font-weight: 600; padding-bottom: .35rem; }
caption span { display: block; max-width: calc(100vw - 2.2rem); }
th, td { padding: .28rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 5.5rem;
  position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid var(--ink); }
tr.paper td { color: var(--quiet); font-style: italic; }
tr.own td { font-weight: 600; }
figure { margin: 1.4rem 0; }
img { max-width: 100%; height: auto; display: block; }
@media (max-width: 40rem) { body { font-size: 15px; padding: .6rem .8rem 3rem; } th, td { padding: .25rem .4rem; }
  table { font-size: .82rem; } .wide img { max-width: none; width: 38rem; } }
@media print { nav { display: none; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Chapter:
    """An experiment in the report: its section, None where it could not run, and what was left out."""

    name: str
    title: str
    section: Section | None
    left_out: tuple[str, ...] = ()


def write_report(folder: Path, chapters: Sequence[Chapter], summary: Grid, note: str) -> Path:
    """Pictures as .png and .svg, and report.html with everything inline; returns the page's path."""
    from ..plots import save_figure

    for chapter in chapters:
        for picture in chapter.section.pictures if chapter.section else ():
            for suffix in ("png", "svg"):
                save_figure(picture.figure, folder / f"{picture.name}.{suffix}")
    path = folder / "report.html"
    part = folder / "report.html.part"
    part.write_text(page(folder, chapters, summary, note), encoding="utf-8")
    part.replace(path)
    return path


def page(folder: Path, chapters: Sequence[Chapter], summary: Grid, note: str) -> str:
    links = "".join(f'<a href="#{c.name}">{html.escape(c.title)}</a>' for c in chapters)
    body = "\n".join(_chapter(folder, c) for c in chapters)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>heatgp: the paper's experiments</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        "<h1>Gaussian processes on manifolds: the paper's experiments</h1>\n"
        '<p class="quiet">Ye, Niu, Cheung, Dai, Liu (2024), their figures in italics, beside those of heatgp. '
        f"{html.escape(note)}</p>\n<nav>{links}</nav>\n{_table(summary)}\n{body}\n</body>\n</html>\n"
    )


def _chapter(folder: Path, chapter: Chapter) -> str:
    parts = [f'<section id="{chapter.name}">', f"<h2>{html.escape(chapter.title)}</h2>"]
    parts += [f'<p class="left-out">Left out. {html.escape(reason)}</p>' for reason in chapter.left_out]
    if chapter.section:
        parts += [f"<p>{_inline(text)}</p>" for text in chapter.section.text.strip().split("\n\n")]
        parts += [_table(grid) for grid in chapter.section.tables]
        parts += [_figure(folder, picture) for picture in chapter.section.pictures]
    return "\n".join([*parts, "</section>"])


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _table(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in grid.header)
    lines = []
    for line in grid.lines:
        kind = ' class="paper"' if line[0].startswith("paper") else ' class="own"' if line[0] == "heatgp" else ""
        lines.append(f"<tr{kind}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>")
    return (
        f'<div class="scroll" tabindex="0"><table><caption><span>{html.escape(grid.caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _figure(folder: Path, picture: Picture) -> str:
    data = base64.b64encode((folder / f"{picture.name}.png").read_bytes()).decode()
    caption = html.escape(picture.caption)
    width = math.ceil(picture.figure.get_figwidth() * 100)
    kind = "scroll wide" if width > 650 else "scroll"
    return (
        f'<figure id="{picture.name}"><div class="{kind}"><img width="{width}" alt="{caption}" '
        f'src="data:image/png;base64,{data}"></div><figcaption>{caption}</figcaption></figure>'
    )
