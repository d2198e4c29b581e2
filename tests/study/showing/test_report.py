"""The report: one file, every chart drawn by a real browser, nothing asked of a network."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import noisewise as nw
from noisewise.charts import save_chart

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHARTS = {"intervals", "bound", "plan", "worth", "residuals"}


def told_study(count=25, n=20):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 3))
    table = {"id": [f"A-{k}" for k in range(n)], **{f"f{j}": features[:, j] for j in range(3)}}
    study = nw.create_study(options=table, model="linear", eps=0.02, span=8.0, name="alloys <one>")
    rows = rng.integers(n, size=count)
    se = np.where(rng.random(count) < 0.1, 0.05, 0.5)
    values = features[rows] @ [1.0, 0.5, -0.2] + se * rng.standard_normal(count)
    instrument = np.where(se < 0.1, "beam", "probe")
    study.tell_many({"option": [f"A-{k}" for k in rows], "value": values, "se": se, "instrument": instrument})
    return study


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    study = told_study()
    path = study.report(
        tmp_path_factory.mktemp("report") / "study.html", plan=study.plan([(0.5, 0.9), (0.05, 0.1)], paths=6)
    )
    return study, path


def test_everything_is_in_it(page):
    study, path = page
    text = path.read_text("utf-8")
    assert study.certificate().sentence in text
    assert "<title>Study alloys &lt;one&gt;</title>" in text
    assert set(re.findall(r'class="chart" id="(\w+)"', text)) == CHARTS
    for words in (
        "carry as much information as",
        "It rests on",
        "Reduced chi-square",
        "without sigma = 0.05",
    ):
        assert words in text
    for words in (f"noisewise {nw.__version__}", "seed of the study", study.certificate().data, "race"):
        assert words in text


def test_nothing_is_asked_of_a_network(page):
    text = page[1].read_text("utf-8")
    assert "default-src 'none'" in text  # the browser refuses whatever is asked for
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=", outside)
    assert "url(" not in outside


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_draws_every_chart_and_asks_for_nothing(page, tmp_path):
    text = page[1].read_text("utf-8")
    # Watches from inside: what was refused by the policy, and what was loaded.
    watch = """<script>
    addEventListener("securitypolicyviolation", e => document.body.dataset.refused = e.blockedURI);
    addEventListener("error", e => document.body.dataset.error = e.message);
    setTimeout(() => document.body.dataset.loaded = performance.getEntriesByType("resource").length, 3000);
    </script>"""
    copy = tmp_path / "watched.html"
    copy.write_text(text.replace("<body>", f"<body>{watch}", 1), encoding="utf-8")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom", copy.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    drawn = done.stdout
    body = re.search(r"</head>\s*(<body[^>]*>)", drawn)[1]
    assert 'data-loaded="0"' in body
    assert "data-refused" not in body
    assert "data-error" not in body
    for name in CHARTS:
        start = drawn.index(f'id="{name}"')
        chart = drawn[start : drawn.index("</svg>", start)]
        assert '<svg xmlns="http://www.w3.org/2000/svg"' in chart, name
        assert chart.count("<path") > 3, name  # axes and marks


def test_ten_thousand_measurements_stay_small(tmp_path):
    study = told_study(10_000, n=50)
    path = study.report(tmp_path / "large.html", plan=study.plan(paths=2))
    assert path.stat().st_size < 3_000_000
    text = path.read_text("utf-8")
    assert "of 10,000 measurements: those that taught most" in text
    assert "The last 200 of 10,000 measurements." in text
    assert re.search(r"[\d,]+ of 10,000 are drawn", text)


def test_a_study_without_anything(tmp_path):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    text = study.report(tmp_path / "empty.html").read_text("utf-8")
    assert "Nothing was measured yet." in text
    assert "There is no plan: `noise` must say how noisy" in text
    assert 'class="chart"' not in text
    without = nw.create_study(options=["A", "B"], span=1.0)
    without.tell(option="A", value=1.0, se=0.1)
    assert "There is no plan: `eps` must be given" in without.report(tmp_path / "no-eps.html").read_text(
        "utf-8"
    )


def test_withheld_and_waiting_studies_have_a_page(tmp_path):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for value in (0.0, 10.0, 20.0):
        study.tell(option="A", value=value, se=0.1)
        study.tell(option="B", value=value, se=0.1)
    page = study.report(tmp_path / "withheld.html", plan=study.plan(paths=2)).read_text("utf-8")
    assert "Certificate withheld" in page
    assert "the plan assumes that it fits" in page
    waiting = nw.create_study(options=["A", "B"], eps=0.1)
    waiting.tell(option="A", value=1.0)
    assert "Study study" in waiting.report(tmp_path / "waiting.html").read_text("utf-8")


def test_refusals(tmp_path, page):
    with pytest.raises(ValueError, match=r"`path` must end in \.html"):
        page[0].report(tmp_path / "a.pdf")
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        page[0].report(tmp_path / "nowhere" / "a.html")


@pytest.mark.parametrize("name", ["intervals", "bound", "worth", "residuals"])
def test_the_same_charts_from_python(page, tmp_path, name):
    chart = getattr(page[0].plot, name)()
    assert chart.to_dict()["title"]["text"]
    assert save_chart(chart, tmp_path / "chart.svg").read_text("utf-8").startswith("<svg")


def test_a_plan_as_a_chart(page):
    study = page[0]
    chart = study.plot.plan(noise=0.5, paths=4)
    assert chart.to_dict()["title"]["text"] == ["What it takes until the bound is at most 0.02"]
    priced = study.plan(menu=[(0.5, 1.0), (0.05, 3.0)], paths=4)
    assert study.plot.plan(priced).to_dict()["layer"][0]["encoding"]["x"]["axis"]["title"].startswith("Cost")
    assert ".bound()" in repr(study.plot)


def test_charts_of_nothing_are_refused():
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for name, words in (
        ("bound", "no bound yet"),
        ("worth", "nothing was measured"),
        ("residuals", "nothing"),
    ):
        with pytest.raises(ValueError, match=words):
            getattr(study.plot, name)()
