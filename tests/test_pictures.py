"""Pictures of pages: found, made by the code beside them, and compared."""

import sys
from pathlib import Path

import pytest
from website.blocks import blocks, printed, shown

from website import pictures

PAGE = """# A page

```python
from noisewise.charts import save_chart, widths_per_option

chart = widths_per_option({"option": ["A", "B"], "width": [0.12, 0.31]})
save_chart(chart, "seen.svg")
save_chart(chart, "unseen.svg")
print("drawn")
```

```text
drawn
```

![Two widths](../images/seen.svg)

```python
x = "![no picture](images/unseen.svg)"
```

<!-- live -->
![Made elsewhere](images/elsewhere.svg)
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "a-page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_a_page_makes_the_pictures_that_it_saves_and_shows(page):
    assert pictures.pictures(page) == ["seen.svg"]
    assert pictures.live(page) == ["elsewhere.svg"]


def test_pictures_are_put_into_a_folder_and_nothing_else_is_left(page, tmp_path, monkeypatch, capsys):
    here, modules = tmp_path / "here", set(sys.modules)
    here.mkdir()
    monkeypatch.chdir(here)
    (made,) = pictures.make(page, Path("made"))
    assert made == here / "made" / "seen.svg"
    assert pictures.marks(made.read_text("utf-8")) == {"A", "B", "mark-rule", "mark-symbol"}
    assert [path.name for path in here.rglob("*.*")] == ["seen.svg"]
    assert not any(name.startswith("page_") for name in set(sys.modules) - modules)
    assert capsys.readouterr().out == ""


def test_a_picture_that_no_block_makes_ends_with_its_name(page, tmp_path):
    page.write_text(
        PAGE.replace('save_chart(chart, "seen.svg")', 'if not chart: save_chart(chart, "seen.svg")')
    )
    with pytest.raises(FileNotFoundError, match=r"seen\.svg"):
        pictures.make(page, tmp_path / "made")


def test_what_a_page_shows_belongs_to_the_block_before_it(page):
    assert shown(page) == ["drawn\n", None]
    assert len(blocks(page)) == 2


def test_what_each_block_prints_is_kept_apart(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed(page) == ["drawn\n", ""]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('<text x="12.5">A 0.3</text>', True),
        ('<text x="12.500000000000002">A 0.3</text>', True),
        ('<text x="12.51">A 0.3</text>', False),
        ('<text x="12.5">A 0.4</text>', False),
        ('<text x="12.5">B 0.3</text>', False),
        ('<text x="12.5">A 0.3</text><text/>', False),
    ],
)
def test_drawings_are_compared_up_to_rounding(other, same):
    assert pictures.same_drawing('<text x="12.5">A 0.3</text>', other) is same


def test_other_versions_than_those_pinned_are_named(monkeypatch):
    monkeypatch.setattr(pictures.importlib.metadata, "version", lambda name: "0.0.1")
    assert pictures.unlike_those_pinned() == [f"{name} 0.0.1" for name in pictures.DRAWING]
