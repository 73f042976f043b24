"""The source line of a chart."""

from reporting.charts.chart import name_sources


def test_sources_are_the_number_of_bundles_and_each_publication_once() -> None:
    rows = [
        {"standing": "closed", "bundle": "a b", "system": "node"},
        {"standing": "open", "bundle": "b c", "system": "node"},
        {"standing": "published", "line": "Mayr et al. 2026 · H200"},
        {"standing": "published", "system": "Mayr et al. 2026"},
        {"standing": "published", "source": "Latif et al. 2024"},
    ]
    assert name_sources(rows) == "3 bundles; Mayr et al. 2026; Latif et al. 2024"
    assert name_sources([]) == ""
