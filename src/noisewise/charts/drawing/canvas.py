"""A chart in the making: layers, the tables behind them (each kept once), and at last its words and look."""

import textwrap
from typing import Any

import altair as alt

from noisewise.charts.drawing.theme import HEIGHT, WIDTH, config


class Drawing:
    """Layers from the bottom to the top, and the tables they draw by name."""

    def __init__(self) -> None:
        self.layers: list[alt.Chart] = []
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def table(self, name: str, rows: list[dict[str, Any]]) -> alt.Chart:
        """Keep a table, and return a chart of it that has no mark yet."""
        self.tables[name] = rows
        # Referring by name spares copies and checks of the rows at every step of building a layer.
        return alt.Chart(alt.NamedData(name=name))

    def finish(
        self,
        *,
        title: str,
        subtitle: list[str],
        height: int = HEIGHT,
        width: int = WIDTH,
        margin: int = 0,
    ) -> alt.LayerChart:
        """The chart, with title, subtitle, spoken description and the common look.

        Args:
            title: One sentence.
            subtitle: Sentences, each on its own line.
            height: Of the plotting area.
            width: Of the plotting area.
            margin: Pixels used right of the plotting area, where title and subtitle may reach.
        """
        lines = [line for sentence in subtitle for line in wrap(sentence, width + margin, 6.1)]
        return alt.LayerChart(
            layer=self.layers,
            width=width,
            height=height,
            title=alt.TitleParams(text=wrap(title, width + margin, 8.5), subtitle=lines),
            description=" ".join(text if text.endswith(".") else f"{text}." for text in (title, *subtitle)),
            datasets=self.tables,
            config=config(),
        )


def wrap(sentence: str, width: int, per_character: float) -> list[str]:
    """Break a sentence into lines that fit; Vega does not break lines by itself."""
    return textwrap.wrap(sentence, int(width / per_character)) or [""]
