"""Certificates, checks and plans in notebooks: with the league table of their moment."""

import weakref
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from noisewise.study.study import Study


class WithLeague:
    """A record that a notebook shows with its study's league table while the study is at that moment."""

    def of(self, study: "Study") -> Self:
        """Remember the study, without keeping it alive; records travel without it."""
        object.__setattr__(self, "_study", (weakref.ref(study), study.head))
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_study"}

    def _league(self) -> str:
        """The league table as HTML; empty if the study has changed or is gone."""
        reference, head = getattr(self, "_study", (lambda: None, ""))
        study = reference()
        return study.league()._repr_html_() if study is not None and study.head == head else ""
