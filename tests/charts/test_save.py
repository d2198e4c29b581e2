import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from noisewise.charts import intervals_per_option, save_chart


@pytest.fixture
def chart(options):
    return intervals_per_option(options, recommended="A-49", bound=0.1)


def test_a_png_has_twice_the_pixels(chart, tmp_path):
    content = save_chart(chart, tmp_path / "chart.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) > 2 * 640
    assert len(content) > 10_000


def test_an_svg_is_a_drawing_with_the_title_in_it(chart, tmp_path):
    drawing = ET.parse(save_chart(chart, tmp_path / "chart.svg"))
    assert chart.to_dict()["title"]["text"][0] in [element.text for element in drawing.iter()]


def test_a_page_is_one_file_that_loads_nothing(chart, tmp_path):
    page = save_chart(chart, tmp_path / "chart.html").read_text(encoding="utf-8")
    assert len(page) > 500_000
    assert re.findall(r"<script[^>]*\bsrc\b|<link\b|@import|\bimport\s*[\"'(]\s*[\"']?http", page) == []
    assert re.findall(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page) == []
    assert page.count("</script>") == 1


@pytest.mark.parametrize("name", ["chart.pdf", "chart", "chart.png.gz"])
def test_an_unknown_suffix_is_refused(name, chart, tmp_path):
    sentence = f"`path` must end in .png, .svg, .html or .json; got '{tmp_path / name}'."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        save_chart(chart, tmp_path / name)


def test_a_file_is_written_whole_or_not_at_all(chart, tmp_path, monkeypatch):
    path = tmp_path / "chart.json"
    path.write_text("before")
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_chart(chart, path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["chart.json"]


def test_importing_the_room_loads_no_drawing_library():
    heavy = {"altair", "narwhals", "polars", "vl_convert"}
    code = f"import sys, noisewise, noisewise.charts; print({heavy} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_a_missing_drawing_library_is_named_with_the_extra_to_install():
    code = "import sys; sys.modules['altair'] = None; from noisewise.charts import save_chart"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs the package 'altair'" in answer.stderr
    assert "pip install 'noisewise[charts]'" in answer.stderr
