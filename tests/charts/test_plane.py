import pytest

import noisewise as nw
from noisewise.charts import set_in_the_plane


def played(n=5):
    policy = nw.vaee(nw.Ball(2))
    columns = {"x": [], "y": [], "sigma": []}
    for k in range(n):
        vector = policy.ask()
        policy.tell(vector, 0.5, 0.1 + k)
        for name, value in zip(columns, (*vector, 0.1 + k), strict=True):
            columns[name].append(float(value))
    return policy, columns


def test_circles_are_round_and_everything_is_shown():
    policy, measured = played()
    estimate = policy.estimate()
    chart = set_in_the_plane(
        policy.actions.outline(),
        measured,
        ellipse=estimate.ellipse(),
        theta=estimate.theta,
        recommended=estimate.recommended,
    ).to_dict()
    assert chart["width"] == chart["height"]
    x, y = (chart["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy")
    assert x[1] - x[0] == pytest.approx(y[1] - y[0])
    edge = estimate.ellipse()
    assert x[0] <= min(edge[:, 0].min(), -1.0)
    assert y[1] >= max(edge[:, 1].max(), 1.0)
    assert len(chart["datasets"]["measured"]) == 5
    assert {row["what"] for row in chart["datasets"]["marks"]} == {"estimate of theta", "recommended"}
    assert "the larger the point" in chart["title"]["subtitle"][0]
