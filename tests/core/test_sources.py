"""The hash of our sources covers the verbs in C as well."""

from noisewise.core import files
from noisewise.core.files import sources_hash


def test_every_source_that_changes_changes_the_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PACKAGE", tmp_path)
    paths = [tmp_path / "core" / name for name in ("a.py", "native/b.c", "native/c.h")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    seen = set()
    for path in (None, *paths):
        if path is not None:
            path.write_text("2")
        sources_hash.cache_clear()
        seen.add(sources_hash(("core",)))
    assert len(seen) == 4
    (tmp_path / "core" / "built.so").write_text("3")
    sources_hash.cache_clear()
    assert sources_hash(("core",)) in seen
    sources_hash.cache_clear()
