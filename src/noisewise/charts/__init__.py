"""Charts: data in, chart specification out; the drawing libraries are loaded at the first chart."""

from typing import TYPE_CHECKING

from noisewise.core.support.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.charts.claims import measured_and_claimed as measured_and_claimed
    from noisewise.charts.course import bound_over_measurements as bound_over_measurements
    from noisewise.charts.drawing.chart_files import save_chart as save_chart
    from noisewise.charts.forecasts import forecast_bands as forecast_bands
    from noisewise.charts.intervals import intervals_per_option as intervals_per_option
    from noisewise.charts.ledger import worth_per_measurement as worth_per_measurement
    from noisewise.charts.lines import lines_with_bands as lines_with_bands
    from noisewise.charts.panels import lines_in_panels as lines_in_panels
    from noisewise.charts.plane import set_in_the_plane as set_in_the_plane
    from noisewise.charts.pulls import who_was_measured as who_was_measured
    from noisewise.charts.ratios import ratio_heat_map as ratio_heat_map
    from noisewise.charts.ratios import ratio_intervals as ratio_intervals
    from noisewise.charts.regret import regret_over_precision as regret_over_precision
    from noisewise.charts.regret import regret_over_rounds as regret_over_rounds
    from noisewise.charts.residuals import residuals_over_measurements as residuals_over_measurements
    from noisewise.charts.weights import design_weights as design_weights
    from noisewise.charts.widths import widths_per_option as widths_per_option

__all__ = [
    "bound_over_measurements",
    "design_weights",
    "forecast_bands",
    "intervals_per_option",
    "lines_in_panels",
    "lines_with_bands",
    "measured_and_claimed",
    "ratio_heat_map",
    "ratio_intervals",
    "regret_over_precision",
    "regret_over_rounds",
    "residuals_over_measurements",
    "save_chart",
    "set_in_the_plane",
    "who_was_measured",
    "widths_per_option",
    "worth_per_measurement",
]

__getattr__ = lazy_names(
    __name__,
    {
        "forecast_bands": "noisewise.charts.forecasts",
        "residuals_over_measurements": "noisewise.charts.residuals",
        "worth_per_measurement": "noisewise.charts.ledger",
        "bound_over_measurements": "noisewise.charts.course",
        "design_weights": "noisewise.charts.weights",
        "intervals_per_option": "noisewise.charts.intervals",
        "lines_in_panels": "noisewise.charts.panels",
        "ratio_heat_map": "noisewise.charts.ratios",
        "ratio_intervals": "noisewise.charts.ratios",
        "lines_with_bands": "noisewise.charts.lines",
        "measured_and_claimed": "noisewise.charts.claims",
        "regret_over_precision": "noisewise.charts.regret",
        "regret_over_rounds": "noisewise.charts.regret",
        "save_chart": "noisewise.charts.drawing.chart_files",
        "set_in_the_plane": "noisewise.charts.plane",
        "who_was_measured": "noisewise.charts.pulls",
        "widths_per_option": "noisewise.charts.widths",
    },
    extra="charts",
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
