"""The report: one file, no script, nothing asked of a network, and it says what the certificate says."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.support.effort import effort, long_beyond
from tests.support.report_states import STATES, told_study

import noisewise as nw
from noisewise.charts import save_chart
from noisewise.core.text import rounded_up
from noisewise.study.planning import worth
from noisewise.study.report import elements as style
from noisewise.study.report.page import LOOKS

CHARTS = {"intervals", "bound", "plan", "worth", "residuals"}


class Reader(HTMLParser):
    """The visible words of a page, the rows of its chart of options, and the certificate in it."""

    def __init__(self, text):
        super().__init__()
        self.words, self.rows, self.certificate = [], [], ""
        self._open = []
        self.feed(text)
        self.certificate = json.loads(self.certificate)

    def handle_starttag(self, tag, attrs):
        kinds = dict(attrs)
        self._open.append((tag, kinds))
        if tag == "tr" and self._among_options():
            self.rows.append({})

    def _among_options(self):
        return any(tag == "figure" and kinds.get("id") == "intervals" for tag, kinds in self._open)

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tags = [tag for tag, _ in self._open]
        if "script" in tags:
            self.certificate += data
        elif "style" not in tags:
            self.words.append(data)
            for _, kinds in self._open if self._among_options() else ():
                if self.rows and kinds.get("role") in ("rowheader", "cell"):
                    name = kinds["role"] if kinds["role"] == "rowheader" else kinds.get("class", "")
                    self.rows[-1][name] = self.rows[-1].get(name, "") + data

    @property
    def text(self):
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    study = told_study()
    plan = study.plan([(0.5, 0.9), (0.05, 0.1)], paths=6)
    return study, study.report(tmp_path_factory.mktemp("report") / "study.html", plan=plan)


def test_everything_is_in_it(page):
    study, path = page
    text = path.read_text("utf-8")
    assert "<title>alloys &lt;one&gt;</title>" in text
    assert set(re.findall(r'class="chart" id="(\w+)"', text)) == CHARTS
    read = Reader(text)
    assert study.certificate().sentence in read.text
    for words in (
        "Which of 20 options has the largest value?",
        "What to do next",
        "carry as much information as",
        "The certificate rests on",
        "Reduced chi-square",
        "without sigma = 0.05",
        f"noisewise {nw.__version__}",
        "Seed of the study",
        study.certificate().data,
        "race",
    ):
        assert words in read.text


def test_it_asks_for_nothing_and_runs_nothing(page):
    text = page[1].read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json" id="certificate">']
    assert not re.search(r"""(\ssrc|href|\sstyle|\son\w+)\s*=|url\(|@import""", text)


@pytest.mark.parametrize("state", STATES[:: effort(3, 1)], ids=lambda state: state.__name__)
def test_its_claims_are_those_of_the_certificate(state, tmp_path):
    study = state()
    certificate = json.loads(study.certificate().to_json())
    read = Reader(study.report(tmp_path / "page.html").read_text("utf-8"))
    assert read.certificate == certificate
    assert certificate["sentence"] in read.text
    listed = {row["rowheader"]: row for row in read.rows if "rowheader" in row}
    standing = {name: row.get("standing", "") for name, row in listed.items()}
    certified = certificate["verdict"] not in ("nothing", "withheld")
    for name, said in standing.items():
        if "excluded" in said:
            assert name not in certificate["candidates"]
        elif not certified:
            assert said in ("not known", "never measured", "not linked")
        elif name == certificate["option"]:
            assert said.startswith("leads" if certificate["verdict"] == "unbounded" else "recommended")
        else:
            assert said.startswith("may be the best" if name in certificate["candidates"] else "ruled out")
    bounds = [float(found) for found in re.findall(r"[Aa]t most ([\d.e-]+)\b", read.text)]
    if certificate["bound"] is None or certificate["n_options"] == 1:
        assert bounds == []
    else:
        shown = certificate["bound"]
        if "bound_ratio" in certificate:
            shown = 100.0 * abs(certificate["bound_ratio"] - 1.0)
        assert set(bounds) == {float(rounded_up(shown))}
    if (
        certificate["estimate"] is not None
        and certificate["option"] in listed
        and not {"difference", "ratio"} & set(study.frame().columns)
    ):
        shown = (
            listed[certificate["option"]]["number main"].split(" ± ")[0].replace("−", "-").replace(",", "")
        )
        decimals = len(shown.partition(".")[2])
        assert float(shown) == pytest.approx(round(certificate["estimate"], decimals))


def test_ten_thousand_measurements_stay_small_and_take_few_looks(tmp_path, monkeypatch):
    looked = []
    places = worth.look_places
    monkeypatch.setattr(worth, "look_places", lambda *given: looked.extend(places(*given)) or places(*given))
    path = told_study(10_000, n=50).report(tmp_path / "large.html")
    assert 2 < len(looked) <= LOOKS
    assert path.stat().st_size < 300_000
    read = Reader(path.read_text("utf-8"))
    assert "of 10,000 measurements: those that taught most" in read.text
    assert "The last 200 of 10,000 measurements." in read.text
    assert re.search(r"[\d,]+ of 10,000 are drawn", read.text)


@pytest.mark.long("pages")
def test_it_needs_no_library_of_charts(tmp_path):
    code = f"""
import sys, noisewise as nw
study = nw.create_study(options=["A", "B"], eps=0.1)
for value, option in enumerate("ABAB"):
    study.tell(option=option, value=0.01 * value, se=0.1)
study.report({str(tmp_path / "page.html")!r})
print(sorted({{"altair", "vl_convert", "pandas"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_study_without_anything(tmp_path):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    text = study.report(tmp_path / "empty.html", plan=True).read_text("utf-8")
    assert "Nothing was measured yet." in text
    assert "There is no plan: `noise` must say how noisy" in text
    assert 'class="chart"' not in text
    assert "What it would take" not in study.report(tmp_path / "empty.html").read_text("utf-8")


def test_refusals(tmp_path, page):
    with pytest.raises(ValueError, match=r"`path` must end in \.html"):
        page[0].report(tmp_path / "a.pdf")
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        page[0].report(tmp_path / "nowhere" / "a.html")


@pytest.mark.parametrize("name", long_beyond(1, ["intervals", "bound", "worth", "residuals"], "pages"))
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


def test_names_of_any_kind_survive(tmp_path):
    names = ["<script>alert(1)</script>", '"quoted" & co', "ünïcödé 🙂", "x" * 300]
    study = nw.create_study(options=names, eps=0.1, unit='<b>"')
    rng = np.random.default_rng(0)
    for name in names * 3:
        study.tell(option=name, value=float(rng.normal()), se=0.5)
    text = study.report(tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert" not in text
    assert "<b>" not in text
    rows = [row["rowheader"] for row in Reader(text).rows if "rowheader" in row]
    assert sorted(rows) == sorted(names)


def luminance(colour):
    parts = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [style.LIGHT, style.DARK])
def test_words_and_marks_stand_out_from_the_paper(palette):
    """Text by 4.5 and marks by 3, as the guidelines for accessible content ask; charts are text, too."""
    colours = dict(re.findall(r"--(\w+): (#\w{6})", palette))
    for paper in ("paper", "card"):
        for name in ("ink", "soft", "good", "wait", "bad"):
            assert contrast(colours[name], colours[paper]) >= 4.5, (name, paper)
    for name in ("blue", "accent", "faded"):
        assert contrast(colours[name], colours["paper"]) >= 3.0, name
    assert contrast(colours["blue"], colours["band"]) >= 3.0


def test_the_residuals_drawn_are_those_that_the_check_tells_of(tmp_path):
    # In blocks, counts enter estimates with the largest error they can have: drawn so, all would seem to fit.
    study = nw.create_study(options=["A", "B"], eps=0.01)
    for day, (a, b) in enumerate([(130, 100), (128, 104), (170, 84), (126, 101), (131, 99)]):
        study.tell(option="A", successes=a, trials=1000, block=f"{day}")
        study.tell(option="B", successes=b, trials=1000, block=f"{day}")
    largest = max(abs(row["residual"]) for row in study.check().worst if row["what"] == "measurement")
    drawn = study.plot.residuals().to_dict()
    rows = [row for rows in drawn["datasets"].values() for row in rows if "residual" in row]
    residuals = [abs(row["residual"]) for row in rows]
    assert max(residuals) == pytest.approx(largest, rel=1e-5)
    assert largest > 2.0
    assert "80 % of the residuals" in Reader(study.report(tmp_path / "r.html").read_text("utf-8")).text
    assert drawn["title"]["text"] == ["80 % of the residuals lie within two standard errors"]
