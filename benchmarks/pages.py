"""Pages of the documentation with figures that a benchmark writes, between two marks."""

from pathlib import Path

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def write_figures(path: Path, figures: str) -> None:
    """Put the figures, as Markdown, between the marks of the page."""
    before, mark, rest = path.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{path} must have the lines {BEGIN!r} and {END!r}, for the tables to go between.")
    path.write_text(f"{before}{BEGIN}\n{figures}\n{END}{after}", "utf-8")
