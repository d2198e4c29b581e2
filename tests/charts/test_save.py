import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from tests.support.browser import CHROMIUM, Browser
from tests.support.waiting import wait_until

from noisewise.charts import (
    intervals_per_option,
    regret_over_rounds,
    save_chart,
    who_was_measured,
    widths_per_option,
)

LONG = pytest.mark.long("pages")


@pytest.fixture(
    params=["intervals", *(pytest.param(one, marks=LONG) for one in ("regret", "widths", "pulls"))]
)
def chart(request, regret, options, measurements):
    return {
        "regret": lambda: regret_over_rounds(regret),
        "intervals": lambda: intervals_per_option(options, recommended="A-49", bound=0.1),
        "widths": lambda: widths_per_option(options),
        "pulls": lambda: who_was_measured(measurements),
    }[request.param]()


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
def test_an_unknown_suffix_is_refused(name, options, tmp_path):
    sentence = f"`path` must end in .png, .svg, .html or .json; got '{tmp_path / name}'."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        save_chart(widths_per_option(options), tmp_path / name)


def test_a_missing_folder_is_named(options, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"`path` must be in a folder that exists; got '.*none"):
        save_chart(widths_per_option(options), tmp_path / "none" / "chart.json")


def test_a_file_is_written_whole_or_not_at_all(options, tmp_path, monkeypatch):
    path = tmp_path / "chart.json"
    path.write_text("before")
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_chart(widths_per_option(options), path)
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


@pytest.mark.long("browsers")
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_page_is_drawn_under_its_own_strict_policy_wide_and_narrow_light_and_dark(options, tmp_path):
    path = save_chart(intervals_per_option(options, recommended="A-49", bound=0.1), tmp_path / "chart.html")
    assert (
        "unsafe" not in re.search(r'Content-Security-Policy" content="([^"]*)"', path.read_text("utf-8"))[1]
    )
    with Browser(tmp_path / "profile") as browser:
        for width, dark in ((1280, False), (400, True)):
            browser.look(width, dark=dark)
            browser.open(path)
            # The script draws after the page was loaded.
            drawn = "document.querySelectorAll('#chart svg path').length > 20"
            wait_until(lambda: browser.run(drawn), "the drawing")  # noqa: B023
            refused = [said for said in browser.complaints() if "WARN" not in said]
            assert refused == []
            assert browser.run("document.documentElement.scrollWidth") <= width
            ink = browser.run("document.querySelector('#chart svg text').getAttribute('fill')")
            assert ink == ("#e8eaed" if dark else "#1f1f1f")
