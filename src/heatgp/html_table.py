"""Tables in HTML, as notebooks show them in the place of text."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, rows: Iterable[Sequence[str]], header: Sequence[str] = (), notes: Iterable[str] = ()) -> str:
    """A table with a title above and notes below; the first cell of each row is its name.

    Parameters
    ----------
    title : str
    rows : rows of text
    header : names of the columns, default none.
    notes : sentences, default none.

    Returns
    -------
    str, in which nothing of the text is taken for HTML.

    Examples
    --------
    >>> html_table("Circle", [("dimension", "1 < 2")]).partition("<tr>")[2]
    '<th scope="row">dimension</th><td>1 &lt; 2</td></tr></tbody></table></div>'
    """
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in others) + "</tr>"
        for first, *others in rows
    )
    return (
        f"<div><table><caption>{escape(title)}</caption>"
        + (f"<thead><tr>{head}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
        + "".join(f"<p>{escape(note)}</p>" for note in notes)
        + "</div>"
    )
