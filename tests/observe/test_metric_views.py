"""What `emit_metric` gave, as Prometheus and people see it (EVT-4)."""

from wonder.observe.metrics import prometheus_text, sparkline
from wonder.storage.metrics import Total


def test_evt_4_prometheus_reads_counts_and_sums_with_dimensions_as_labels() -> None:
    totals = [
        Total("default", "orders.total", {"country": 'D"E\n', "1st": "a\\b"}, 3, 4.5),
        Total("default", "orders_total", {"country": 'D"E\n', "1st": "a\\b"}, 1, 0.5),
        Total("other", "orders_total", {}, 1, 1e20),
    ]
    assert prometheus_text(totals) == (
        "# TYPE orders_total summary\n"
        'orders_total_count{project="default",country="D\\"E\\n",_1st="a\\\\b"} 4\n'
        'orders_total_sum{project="default",country="D\\"E\\n",_1st="a\\\\b"} 5.0\n'
        'orders_total_count{project="other"} 1\n'
        'orders_total_sum{project="other"} 1e+20\n'
    )


def test_a_metric_of_any_name_has_one_that_prometheus_reads() -> None:
    """A kind of one's own may give a name that begins with a digit; Prometheus would drop all metrics for it."""
    text = prometheus_text([Total("default", name, {}, 1, 1.0) for name in ("5xx", "é")])
    assert [line.partition("{")[0] for line in text.splitlines() if "_count" in line] == ["_5xx_count", "__count"]


def test_labels_that_become_the_same_stay_apart() -> None:
    text = prometheus_text([Total("default", "m", {"a-b": "1", "a.b": "2", "project": "3"}, 1, 1.0)])
    assert '{project="default",a_b="1",a_b_="2",project_="3"}' in text


def test_a_plot_goes_from_nothing_to_the_largest() -> None:
    assert sparkline([0, 1, 2, 4, 7]) == "▁▂▃▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([-1, 0, 1]) == "▁▅█"
    assert sparkline([None, 1, None, 2]) == "▁▅▁█"
    assert sparkline([None, -1, None, -2]) == " ▅ ▁"
