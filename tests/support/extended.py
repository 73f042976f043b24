"""Which tests `make test` leaves to `make test-all`, and what they need. Beside the cases of
tests/rules/test_mutations.py on committed runs, this is the one place that says so."""

from collections.abc import Iterable

import pytest

FIXTURES = {
    "chromium": "a browser",
    "whole_report": "the report on everything in submissions/",
    "libraries": "C libraries that stand in for those of NVIDIA and AMD",
}
"""By a fixture that the test uses, itself or through another one."""

GROUPS = {
    "bindings": "C libraries that stand in for those of NVIDIA and AMD",
    "kill": "whole runs that are killed",
    "kill-bindings": "whole runs that are killed",
    "kill-sweep": "whole runs that are killed",
    "machine": "whole runs",
    "node-meters": "servers of node meters, and whole runs",
    "node-readings": "whole runs",
    "node-report": "the report on everything in submissions/",
    "nodes": "whole runs under torchrun",
    "session": "whole runs under torchrun",
    "signals": "whole runs that are interrupted",
    "study-page": "a browser",
    "sweep-axes": "whole runs",
    "timing": "servers of node meters",
    "torch": "torch",
    "trace": "the report on everything in submissions/",
    "wheel": "a wheel in a new environment",
    "whole-report": "the report on everything in submissions/",
}
"""By the xdist group of the test."""

PLACES = {
    "tests/checker/test_find.py::test_many_hidden": "20 000 directories",
    "tests/checker/test_listing.py": "hundreds of bundles",
    "tests/checker/test_reproductions.py::test_committed_reproduction": "all of submissions/",
    "tests/checker/test_reproductions.py::test_output_in_the_page": "all of submissions/",
    "tests/checker/test_special_files.py": "special files of the system",
    "tests/checker/test_together.py": "processes that are killed",
    "tests/checker/test_verdict_cache.py::test_verdicts_on_the": "all of submissions/",
    "tests/checker/trust/test_reviewing.py::test_page_shows": "the commands of a page",
    "tests/end_to_end/kills/": "whole runs that are killed",
    "tests/end_to_end/test_benchmarks.py": "benchmarks in small",
    "tests/end_to_end/test_clean_runs.py": "a benchmark in small",
    "tests/end_to_end/test_contributing.py": "copies of the project with their tests",
    "tests/end_to_end/test_first_round.py": "a whole run",
    "tests/end_to_end/test_fuzz.py::test_mutated_bundles": "a benchmark in small",
    "tests/end_to_end/test_round_pages.py::test_outputs_about": "all of submissions/",
    "tests/end_to_end/test_round_pages.py::test_page_shows": "all of submissions/",
    "tests/end_to_end/test_simulated_sweep.py": "whole runs",
    "tests/examples/": "whole runs",
    "tests/harness/cap_faults/": "processes that are killed",
    "tests/harness/power/caps/test_lost_journals.py": "processes that are killed",
    "tests/harness/power/nodes/test_ipmi.py": "servers of node meters",
    "tests/harness/run/test_idle.py": "whole runs",
    "tests/harness/run/test_inputs_hash.py": "torch",
    "tests/harness/run/workers/test_load.py::test_no_epoch": "many random draws",
    "tests/harness/sensor/": "many simulated readings",
    "tests/harness/studies/test_study_methods.py::test_committed_study": "a long study",
    "tests/harness/test_footprint.py::test_run_": "whole runs",
    "tests/harness/test_footprint.py::test_export_": "whole runs",
    "tests/harness/test_footprint.py::test_kernels_": "torch",
    "tests/harness/test_footprint.py::test_killed_": "processes that are killed",
    "tests/harness/test_interrupts.py": "processes that are interrupted",
    "tests/harness/test_terminal.py": "processes on a terminal and a full disk",
    "tests/reporting/papers/test_compiled.py": "LaTeX",
    "tests/reporting/rounds/test_compare_command.py::test_headings": "all of submissions/",
    "tests/reporting/sections/test_excluded_results.py::test_excluded": "all of submissions/",
    "tests/reporting/sections/test_interval_coverage.py": "all of submissions/",
    "tests/reporting/sentences/test_sentence_trace.py": "all of submissions/",
    "tests/reporting/test_page_size.py::test_page_that": "all of submissions/",
    "tests/reporting/test_report.py::test_what_many": "all of submissions/",
    "tests/rules/bundle_format/test_tables.py::test_evidence_of_a_committed": "all committed runs",
    "tests/rules/metrics/node/test_node_clock.py::test_nearly_every": "all committed runs",
    "tests/rules/metrics/node/test_node_clock.py::test_the_bound_holds": "all committed runs",
    "tests/rules/metrics/uncertainty/test_between_runs.py::test_5_percent": "many random draws",
    "tests/rules/metrics/uncertainty/test_between_runs.py::test_95_percent": "many random draws",
    "tests/rules/test_across.py::test_round_of_many": "a round of many runs",
    "tests/rules/test_copies.py::test_no_two_measured": "all of submissions/",
    "tests/site/": "root, servers or programs of a site",
}
"""By the beginning of its id."""


def find_need(item: pytest.Item) -> str:
    """What the test needs that `make test` does without; empty where there is nothing."""
    fixtures = getattr(item, "fixturenames", ())
    groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
    reasons = [
        *(FIXTURES[name] for name in fixtures if name in FIXTURES),
        *(GROUPS[name] for name in groups if name in GROUPS),
        *(need for place, need in PLACES.items() if item.nodeid.startswith(place)),
    ]
    return reasons[0] if reasons else ""


def mark_extended(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that only `make test-all` runs."""
    for item in items:
        if need := find_need(item):
            item.add_marker(pytest.mark.extended(need))
