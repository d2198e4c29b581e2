"""Studies behind a server, for tests: small ones, with tokens of every role."""

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile

API = "/api/v1/studies"


def small_study(store, name="tea", **more):
    """Three options, measured once each, and one suggestion."""
    study = nw.create_study(store, name=name, options=["A", "B", "C"], **{"eps": 0.1} | more)
    for option, value in (("A", 1.0), ("B", 3.0), ("C", 2.0)):
        study.tell(option=option, value=value, se=0.05, key=f"first {option}")
    study.ask()
    return study


def small_store(folder):
    """A file with such a study, which nobody has open."""
    store = nw.open_store(folder / "studies.db", create=True)
    small_study(store)
    store.close()
    return folder / "studies.db"


def guarded_app(folder, **more):
    """An app with a small study, and the secrets of its tokens by role."""
    store = folder / "studies.db"
    small_study(store)
    tokens = TokenFile(folder / "studies.db.tokens")
    secrets = {role: tokens.add(f"{role} one", role)[1] for role in ("viewer", "worker", "owner")}
    return make_app(store, tokens=tokens, **more), secrets


def bearer(secret):
    """The header that brings a token."""
    return {"Authorization": f"Bearer {secret}"}
