import pytest

from noisewise.charts import intervals_per_option


def words(chart):
    title = chart.to_dict(validate=False)["title"]
    return " ".join(title["text"]), " ".join(title["subtitle"])


def shown(chart):
    return [
        row["option"]
        for rows in chart.to_dict(validate=False)["datasets"].values()
        for row in rows
        if "option" in row
    ]


def test_the_best_means_are_on_top_and_the_rest_is_counted(options):
    chart = intervals_per_option(options, recommended="A-49", bound=0.05, most=10)
    assert shown(chart) == [f"A-{k}" for k in range(49, 39, -1)]
    title, subtitle = words(chart)
    assert title == "A-49 is at most 0.05 below the best"
    assert "10 of 49 others may still be the best" in subtitle
    assert "40 more options with worse means are not shown; 1 of them may still be the best." in subtitle


def test_an_unknown_recommendation_is_refused_with_the_nearest_name(options):
    with pytest.raises(
        ValueError, match=r"`recommended` must be one of .*; got 'A-490'. Did you mean 'A-49'\?"
    ):
        intervals_per_option(options, recommended="A-490")
