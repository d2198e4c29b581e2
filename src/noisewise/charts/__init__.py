"""Charts: data in, chart specification out; the drawing libraries are loaded at the first chart."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.charts.files import save_chart as save_chart
    from noisewise.charts.intervals import intervals_per_option as intervals_per_option
    from noisewise.charts.lines import lines_with_bands as lines_with_bands
    from noisewise.charts.lines import regret_over_precision as regret_over_precision
    from noisewise.charts.lines import regret_over_rounds as regret_over_rounds
    from noisewise.charts.rows import design_weights as design_weights
    from noisewise.charts.rows import measured_and_claimed as measured_and_claimed
    from noisewise.charts.rows import ratio_heat_map as ratio_heat_map
    from noisewise.charts.rows import ratio_intervals as ratio_intervals
    from noisewise.charts.study import bound_over_measurements as bound_over_measurements
    from noisewise.charts.study import forecast_bands as forecast_bands
    from noisewise.charts.study import residuals_over_measurements as residuals_over_measurements
    from noisewise.charts.study import worth_per_measurement as worth_per_measurement

__all__ = [
    "bound_over_measurements",
    "design_weights",
    "forecast_bands",
    "intervals_per_option",
    "lines_with_bands",
    "measured_and_claimed",
    "ratio_heat_map",
    "ratio_intervals",
    "regret_over_precision",
    "regret_over_rounds",
    "residuals_over_measurements",
    "save_chart",
    "worth_per_measurement",
]

__getattr__ = lazy_names(
    __name__,
    {
        "forecast_bands": "noisewise.charts.study",
        "residuals_over_measurements": "noisewise.charts.study",
        "worth_per_measurement": "noisewise.charts.study",
        "bound_over_measurements": "noisewise.charts.study",
        "design_weights": "noisewise.charts.rows",
        "intervals_per_option": "noisewise.charts.intervals",
        "ratio_heat_map": "noisewise.charts.rows",
        "ratio_intervals": "noisewise.charts.rows",
        "lines_with_bands": "noisewise.charts.lines",
        "measured_and_claimed": "noisewise.charts.rows",
        "regret_over_precision": "noisewise.charts.lines",
        "regret_over_rounds": "noisewise.charts.lines",
        "save_chart": "noisewise.charts.files",
    },
    extra="charts",
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
