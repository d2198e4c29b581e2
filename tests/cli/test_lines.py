"""Sentences are broken where rich would break them, and say what was said, to the letter."""

import io

import pytest
from rich.console import Console

from noisewise.cli.printing import wrapped

SENTENCES = (
    "",
    "short",
    "Certificate withheld: reduced chi-square 1.87 (expected 1): the linear model, the error bars or some "
    "measurements are wrong, most of all for measurement m-101 of o3.",
    "  two blanks before, and a_name_that_is_longer_than_any_line_" + "x" * 100 + " and then on",
    "x" * 200,
    "naïve café 日本語の名前がここにあります and more words after wide ones 日本語の名前 again",
)


@pytest.mark.parametrize("width", [20, 33, 80])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_lines_are_those_of_rich(sentence, width):
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(sentence, markup=False)
    assert wrapped(sentence, width) == [line.rstrip() for line in file.getvalue().splitlines()]


def test_what_looks_like_an_emoji_stays_as_it_is():
    assert wrapped("option :heart: [bold]x[/bold]", 80) == ["option :heart: [bold]x[/bold]"]
