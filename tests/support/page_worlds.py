"""A store with studies in every state that pages have to show."""

import numpy as np

import noisewise as nw

NASTY = (
    "<script>alert('x')</script> & \"quoted\"/slashed ~1 name that is rather long, as names of studies can be"
)
NASTY_OPTION = "<img src=x onerror=alert(1)> & 'more'"


def filled_store(path):
    """Studies called going, reached, withheld, nothing, alone (with one option), days, and `NASTY`."""
    store = nw.open_store(path, create=True)
    rng = np.random.default_rng(1)
    going(store, rng)
    study = nw.create_study(store, name="reached", options=["A", "B", "C"], eps=1.0, unit="ms", goal="min")
    for k in range(9):
        study.tell(option="ABC"[k % 3], value=10.0 + 3.0 * (k % 3) + 0.1 * rng.standard_normal(), se=0.1)
    withheld(store, rng)
    nw.create_study(store, name="nothing", options=["green", "black"], eps=0.1)
    alone = nw.create_study(store, name="alone", options=["only"], eps=0.1)
    alone.tell(option="only", value=1.0, se=0.1)
    days = nw.create_study(store, name="days", options=["P", "Q", "R"], eps=0.2)
    for k in range(9):
        days.tell(option="PQR"[k % 3], value=k % 3 + 5.0 * (k // 3), se=0.2, block=f"day {k // 3}")
    nasty = nw.create_study(store, name=NASTY, options=[NASTY_OPTION, "a" * 90, "c"], eps=0.1)
    for k in range(6):
        nasty.tell(
            option=nasty.options[k % 3],
            value=float(k % 3),
            se=0.3,
            block="<b>",
            key=f"<i>{k}</i>",
            by="</td>",
        )
    return store


def going(store, rng):
    """A study that goes on, with everything that can happen to one."""
    names = [f"A-{k:02d}" for k in range(20)]
    study = nw.create_study(store, name="going", options=names, eps=0.5, unit="GPa")
    truth = dict(zip(names, 22.0 - np.abs(rng.normal(size=20)), strict=True))
    for name in names:
        study.tell(option=name, value=float(truth[name] + 0.6 * rng.standard_normal()), se=0.6, by="ann")
    for k in range(12):
        job, se = study.ask(by="tom")[0], 0.06 if k % 5 == 0 else 0.6
        value = float(truth[job.option] + se * rng.standard_normal())
        study.tell(job, value, se=se, instrument="beam" if se < 0.1 else "probe")
    failed, released, _ = study.ask(3, by="eve")
    study.fail(failed, "cracked")
    study.release(released)
    study.void("m-25", "wrong sample")
    study.amend("m-9", "two digits swapped", value=20.1, se=0.6)
    study.exclude("A-03", "out of stock")
    return study


def withheld(store, rng):
    """A study whose certificate is withheld for one wrong row."""
    study = nw.create_study(store, name="withheld", options=["A", "B", "C", "D"], eps=0.5)
    for k in range(16):
        study.tell(option="ABCD"[k % 4], value=k % 4 + 0.3 * rng.standard_normal() + 9.0 * (k == 6), se=0.3)
    return study
