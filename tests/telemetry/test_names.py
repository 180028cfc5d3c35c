"""The names of attributes and metrics: the reference page and the dashboard use those of the code, and no others."""

import json
import re
from pathlib import Path
from typing import Any

from deskmate.core.telemetry import conventions as names
from deskmate.core.telemetry.conventions import METRICS, MetricDefinition

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/reference/telemetry.md").read_text(encoding="utf-8")
DASHBOARD = TOP / "examples/grafana/deskmate-teams.json"
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}
# Words of the query language and of Grafana.
_WORDS = {"sum", "by", "le", "rate", "increase", "histogram_quantile", "label_values", "team", "__rate_interval"}


def rows(heading: str) -> dict[str, list[str]]:
    """Return the table below a heading of the page: the cells of each row by the name in its first cell."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line[:1] == "|"
    ]
    return {row[0].strip("| `"): [cell.strip("| ") for cell in row[1:]] for row in table[2:]}


def test_the_page_has_every_attribute_with_its_meaning() -> None:
    assert {name: cells[0] for name, cells in rows("Attributes").items()} == dict(names.ATTRIBUTES)
    assert {name: cells[0] for name, cells in rows("Texts").items()} == dict(names.CONTENT)
    assert {name: cells[0] for name, cells in rows("Links").items()} == dict(names.LINK_ATTRIBUTES)


def test_the_page_has_every_metric_with_its_kind_unit_and_attributes() -> None:
    expected = {
        one.name: [one.kind, f"`{one.unit}`", one.meaning, ", ".join(f"`{name}`" for name in one.attributes)]
        for one in METRICS
    }
    assert rows("Metrics") == expected
    points = {name: cells[0] for name, cells in rows("Attributes of metrics").items()}
    assert points == dict(names.POINT_ATTRIBUTES)


def test_every_attribute_of_a_metric_is_in_a_table() -> None:
    known = {*names.ATTRIBUTES, *names.POINT_ATTRIBUTES}
    assert {attribute for metric in METRICS for attribute in metric.attributes} <= known


def in_prometheus(metric: MetricDefinition) -> set[str]:
    """Return the names that a metric has in Prometheus: without dots, with its unit and the suffix of its kind."""
    unit = {"s": "_seconds"}.get(metric.unit, "")
    return {metric.name.replace(".", "_") + unit + suffix for suffix in _SUFFIXES[metric.kind]}


def foreign_names(dashboard: dict[str, Any]) -> set[str]:
    """Return what a dashboard names and no metric has."""
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    legends = [target["legendFormat"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    named = {word for query in queries for word in re.findall(r"[A-Za-z_]\w+", query)}
    named |= {word for legend in legends for word in re.findall(r"\{\{(\w+)\}\}", legend)}
    metrics = set().union(*map(in_prometheus, METRICS))
    labels = {name.replace(".", "_") for metric in METRICS for name in metric.attributes}
    return named - metrics - labels - _WORDS


def test_the_dashboard_names_only_what_is_exported() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert foreign_names(dashboard) == set()
    queries = json.dumps(dashboard)
    assert all(any(name in queries for name in in_prometheus(metric)) for metric in METRICS)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_a_planted_name_that_nobody_exports_is_found() -> None:
    target = {"expr": "sum(deskmate_cost{team_name=~'x'})", "legendFormat": "{{gen_ai_agent}}"}
    planted = {"panels": [{"targets": [target]}], "templating": {"list": []}}
    assert foreign_names(planted) == {"deskmate_cost", "team_name", "gen_ai_agent"}
