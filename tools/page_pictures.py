"""The pictures of docs/serve.md: ``python -m tools.page_pictures docs/images``."""

import base64
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.support.browser import Browser
from tests.support.servers import in_thread
from tests.support.waiting import wait_until

import noisewise as nw
from noisewise.cli.demo import _World
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile

#: Name, address, width, height, dark.
PICTURES = (
    ("serve-studies", "/", 1280, 640, False),
    ("serve-study", "/s/hardness/", 1280, 1330, False),
    ("serve-tell", "/s/hardness/measurements", 1280, 900, False),
    ("serve-check", "/s/hardness-repeat/check", 1280, 1030, False),
    ("serve-phone", "/s/models/", 400, 1100, False),
)
#: What is typed into the form of the page on which a measurement is told.
TYPED = """(() => {
  const form = document.querySelector('form[action=tell]');
  form.what.value = 'A-16';
  form.querySelector('[value=ci]').click();
  const typed = [['value', '21.6'], ['ci', '20.8,22.4']];
  for (const [name, text] of typed) form['ci.' + name].value = text;
  form['ci.ci'].dispatchEvent(new Event('input', {bubbles: true}));
})()"""

PREVIEWED = "document.querySelector('#preview').textContent.includes('it enters with')"


def store_to_show(path):
    """A few studies as a laboratory and an evaluation team may have them."""
    store, rng = nw.open_store(path, create=True), np.random.default_rng(1)
    nw.create_study(store, name="tea", options=["green", "black", "white", "oolong"], eps=0.1, goal="min")
    names = [f"A-{k:02d}" for k in range(40)]
    truth = dict(zip(names, 22.0 - 1.5 * np.abs(rng.normal(size=40)), strict=True))
    repeat = nw.create_study(store, name="hardness-repeat", options=names[:12], eps=0.5, unit="GPa")
    for k in range(36):
        wrong = 8.0 * (k == 22)
        repeat.tell(option=names[k % 12], value=truth[names[k % 12]] + 0.3 * rng.normal() + wrong, se=0.3)
    world = _World(0)
    models = nw.create_study(store, name="models", seed=0, **world.question)
    while not models.certificate().reached:
        for job in models.ask(min(max(len(world.models) - models.n_measurements, 4), 32)):
            models.tell(job, **world.measure(job.option))
    study = nw.create_study(store, name="hardness", options=names, eps=0.5, unit="GPa")
    for name in names:
        study.tell(option=name, value=float(truth[name] + 0.6 * rng.normal()), se=0.6, instrument="probe")
    for k in range(90):
        job, se = study.ask(by="tom")[0], 0.06 if k % 9 == 0 else 0.6
        value = float(truth[job.option] + se * rng.normal())
        study.tell(job, value, se=se, instrument="beam" if se < 0.1 else "probe")
    study.ask(2, by="eve")
    store.close()


def main(folder):
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as kept:
        store_to_show(Path(kept) / "team.db")
        app = make_app(Path(kept) / "team.db", tokens=TokenFile(Path(kept) / "team.db.tokens"))
        with in_thread(app) as home, Browser(Path(kept) / "profile") as browser:
            for name, address, width, height, dark in PICTURES:
                browser.look(width, height=height, dark=dark)
                browser.visit(home + address)
                if name == "serve-tell":
                    browser.run(TYPED)
                    wait_until(lambda: browser.run(PREVIEWED), "the preview")
                clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
                shot = browser._ask("Page.captureScreenshot", format="png", clip=clip)
                (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main(sys.argv[1])
