"""The runs of a round that rules compare with each other: of one setting, of other centers, of one
sweep."""

from collections.abc import Iterator, Sequence

from rules.declarations.run import SweepLabel
from rules.run_summary import RunSummary
from rules.settings import ConfigurationKey

NEAR_CAP = 0.05
"""Caps that differ by at most this share are compared between centers. A cap that is a little lower
than that of all others must not keep a run from being compared."""


def group_by_comparison_key(runs: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """The runs with a cap in groups of one comparison key, sorted by cap. The runs of a group are
    of one center."""
    groups: dict[tuple[object, ...], list[RunSummary]] = {}
    for run in runs:
        if run.cap_w is not None:
            groups.setdefault(run.comparison_key, []).append(run)
    return [sorted(group, key=lambda run: (run.cap_w or 0, run.path)) for group in groups.values()]


def pair_with_other_centers(
    runs: Sequence[RunSummary],
) -> Iterator[tuple[list[RunSummary], list[list[RunSummary]]]]:
    """The closed runs that kept their cap, in groups of one setting, cap and center; each with the
    groups of other centers of that setting whose caps differ by at most `NEAR_CAP`. A group without
    such others is left out.

    If the LOG lists some of the runs of other centers, only these are returned: centers that agree
    on a claim could otherwise vouch for each other, or outvote an honest run.
    """
    groups_by_setting: dict[ConfigurationKey, dict[tuple[float, str], list[RunSummary]]] = {}
    for run in runs:
        # Open runs may use other software and another input. A board that exceeds its cap has the
        # figures of another cap.
        if run.standing == "closed" and run.held and run.cap_w is not None:
            groups = groups_by_setting.setdefault(run.setting, {})
            groups.setdefault((run.cap_w, run.center), []).append(run)
    for groups in groups_by_setting.values():
        for (cap_w, center), group in groups.items():
            other_groups = [
                other_group
                for (other_cap_w, other_center), other_group in groups.items()
                # Runs of the own center must not vouch for each other.
                if other_center != center
                and abs(other_cap_w - cap_w) <= NEAR_CAP * max(cap_w, other_cap_w)
            ]
            accepted_groups = [
                [run for run in other_group if run.log_line is not None]
                for other_group in other_groups
            ]
            if other_groups:
                yield group, list(filter(None, accepted_groups)) or other_groups


def group_by_sweep(
    runs: Sequence[RunSummary],
) -> dict[tuple[str, str], list[tuple[RunSummary, SweepLabel]]]:
    """The runs of each sweep, sorted by place, with what result.json states of the sweep. The key
    is center and id of the sweep."""
    sweeps_by_id: dict[tuple[str, str], list[tuple[RunSummary, SweepLabel]]] = {}
    for run in runs:
        if run.sweep is not None:
            key = (run.center, run.sweep.id)
            sweeps_by_id.setdefault(key, []).append((run, run.sweep))
    for members in sweeps_by_id.values():
        members.sort(key=lambda member: (member[1].place, member[0].path))
    return sweeps_by_id
