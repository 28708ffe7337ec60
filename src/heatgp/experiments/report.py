"""One self-contained HTML page: tables, pictures and what was left out."""

import base64
import html
import math
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from ..datasets.files import csv_records, data_folder
from ..plots import save_figure
from ..whole_file import write_text
from .experiment import Experiment, Grid, Section


def write_report(folder: Path, sections: Mapping[Experiment, Section], summary: Grid, note: str) -> Path:
    """Pictures as .png and .svg, and report.html with everything inside; returns the page's path."""
    template = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    page = template.substitute(
        note=html.escape(note),
        links="".join(f'<a href="#{e.name}">{html.escape(e.title)}</a>' for e in sections),
        summary=_table(summary),
        chapters="\n".join(_section(folder, *item) for item in sections.items()),
    )
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _section(folder: Path, experiment: Experiment, section: Section) -> str:
    parts = [f'<section id="{experiment.name}">', f"<h2>{html.escape(experiment.title)}</h2>"]
    for reason in section.left_out:  # a report may be shown to others: it does not name folders of this machine
        public = reason.replace(str(data_folder()), "$HEATGP_DATA")
        parts.append(f'<p class="left-out">Left out. {html.escape(public)}</p>')
    parts += [f"<p>{_inline(text)}</p>" for text in section.text.strip().split("\n\n") if text]
    parts += [_table(grid) for grid in section.tables]
    parts += [_figure(folder / name, figure) for name, figure in section.pictures.items()]
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


def _figure(path: Path, figure: Figure) -> str:
    """Write a picture as .png and .svg, and give the HTML that shows it."""
    for suffix in (".png", ".svg"):
        save_figure(figure, path.with_name(path.name + suffix))
    data = base64.b64encode(path.with_name(f"{path.name}.png").read_bytes()).decode()
    captions = {line["picture"]: line["caption"] for line in csv_records(Path(__file__).with_name("captions.csv"))}
    caption = html.escape(captions[path.name])
    width = math.ceil(figure.get_figwidth() * 100)
    kind = "scroll wide" if width > 650 else "scroll"
    return (
        f'<figure id="{path.name}"><div class="{kind}"><img width="{width}" alt="{caption}" '
        f'src="data:image/png;base64,{data}"></div><figcaption>{caption}</figcaption></figure>'
    )
