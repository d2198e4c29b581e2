import pytest

from noisewise.charts import lines_in_panels


@pytest.fixture
def table():
    return {
        "quantity": ["error"] * 8 + ["regret"] * 8,
        "panel": (["normal"] * 4 + ["outliers"] * 4) * 2,
        "policy": ["vaee", "vaee", "robust", "robust"] * 4,
        "rounds": [1, 9] * 8,
        "value": [1.0, 0.3, 1.1, 0.4, 9.0, 7.0, 1.0, 0.3] + [0.1, 0.03] * 4,
    }


def test_a_row_per_quantity_and_a_column_per_panel_in_the_order_given(table):
    chart = lines_in_panels(table, title="T", subtitle="S").to_dict()
    assert [len(row["hconcat"]) for row in chart["vconcat"]] == [2, 2]
    assert [cell["title"]["text"] for cell in chart["vconcat"][0]["hconcat"]] == ["normal", "outliers"]
    assert set(chart["datasets"]) == {
        "error, normal",
        "error, outliers",
        "regret, normal",
        "regret, outliers",
    }
    assert len(chart["datasets"]["error, normal"]) == 4
    assert chart["title"]["text"] == ["T"]
    assert chart["description"] == "T. S"


def test_what_cannot_stand_on_a_log_axis_is_refused(table):
    table["value"][3] = 0.0
    with pytest.raises(ValueError, match=r"^Column 'value' must be above 0 on a log axis; got 0.0\.$"):
        lines_in_panels(table)
