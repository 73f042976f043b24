"""Advice as a JSON document. Units are in names."""

from collections.abc import Sequence
from typing import Any

from reporting.advice.advice import Advice, Racks
from reporting.advice.questions import list_open_questions
from reporting.advice.setting import list_setting_lines
from rules import VERSION
from rules.bundle_format.records import Json
from rules.metrics.comparison import kwh_per_year
from rules.metrics.figures import Estimate
from rules.metrics.sweeps.allowed_loss import estimate_loss_percent
from rules.metrics.sweeps.filled_racks import FilledRack
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point

FORMAT = "wattmark-advice/1"
"""The format of the output of `bench-report advise --json`."""


def describe_advice(advices: Sequence[Advice]) -> Json:
    """The advice on all sweeps of a workload."""
    return {
        "format": FORMAT,
        "rules_version": VERSION,
        "sweeps": [_describe_sweep(advice) for advice in advices],
    }


def _describe_sweep(advice: Advice) -> Json:
    subject, chosen = advice.subject, advice.chosen
    row = subject.rows[0]
    return {
        "name": subject.name,
        "workload": subject.workload,
        "standing": subject.standing,
        "provenance": subject.provenance,
        "system": row.system,
        "model": row.model,
        "accelerators": subject.boards,
        "scope": subject.scope,
        "is_of_nodes": subject.is_of_nodes,
        "reference_cap_w": subject.reference.cap_w if subject.reference else None,
        "not_compared": subject.not_compared,
        "caps": [_describe_cap(point, subject.reference) for point in subject.points],
        "best": [
            {
                "metric": best.metric.name,
                "k": best.metric.k,
                "cap_w": best.point.cap_w,
                "gain": _describe_estimate(best.gain),
                "not_told_apart_w": _list_caps_w(best.not_told_apart),
            }
            for best in advice.best_settings
        ],
        "interpolated": None
        if advice.interpolated is None
        else {
            "cap_w": advice.interpolated.cap_w,
            "cap_ci95_w": advice.interpolated.cap_ci95_w,
        },
        "allowed_loss_percent": advice.wishes.allowed_loss_percent,
        "allowed": None
        if advice.allowed is None
        else {
            "cap_w": advice.allowed.point.cap_w,
            "loss_percent": _describe_estimate(advice.allowed.loss_percent),
            "certain": advice.allowed.certain,
        },
        "rack": None if advice.racks is None else _describe_racks(advice, advice.racks),
        "no_rack": subject.no_rack or None,
        "chosen": None
        if chosen is None
        else {
            "cap_w": chosen.cap_w,
            "reason": chosen.reason,
            "not_told_apart_w": _list_caps_w(chosen.ties),
            "set_by": {line.where: line.command for line in list_setting_lines(row, chosen.cap_w)},
        },
        "open": [
            {"text": question.text, "command": question.command}
            for question in list_open_questions(advice)
        ],
    }


def _describe_cap(point: Point, reference: Point | None) -> Json:
    figures: Json = {
        "cap_w": point.cap_w,
        "runs": point.n,
        "items_per_s": point.items_per_s,
        "joules_per_item": point.joules_per_item,
    }
    if reference is None:
        return figures
    comparison = compare(point, reference)
    return {
        **figures,
        "energy_gain_percent": _describe_estimate(comparison.energy_gain_percent),
        "extra_time_percent": _describe_estimate(comparison.extra_time_percent),
        "loss_percent": _describe_estimate(estimate_loss_percent(point, reference)),
        "gain_minus_extra_time_points": _describe_estimate(comparison.gain_minus_extra_time_points),
        "edp_gain_percent": _describe_estimate(comparison.edp_gain_percent),
        "eds_gain_percent": {
            f"{k:g}": _describe_estimate(gain) for k, gain in comparison.eds_gain_percent.items()
        },
    }


def _describe_racks(advice: Advice, racks: Racks) -> Json:
    wishes, best = advice.wishes, racks.best
    return {
        "limit_w": wishes.rack_w,
        "redundancy_percent": wishes.redundancy_percent,
        "planned_by": advice.subject.planned_by,
        "price_per_kwh": wishes.price_per_kwh,
        "caps": [_describe_rack(rack, wishes.price_per_kwh) for rack in racks.racks],
        "best_cap_w": best.rack.node.point.cap_w if best else None,
        "not_told_apart_w": None
        if best is None or best.not_told_apart is None
        else [r.node.point.cap_w for r in best.not_told_apart if r is not best.rack],
    }


def _describe_rack(rack: FilledRack, price_per_kwh: float) -> Json:
    kwh = kwh_per_year(rack.mean_w)
    return {
        "cap_w": rack.node.point.cap_w,
        "node_w": rack.node.planned_w,
        "node_mean_w": rack.node.mean_w,
        "nodes": rack.plan.nodes,
        "items_per_s": _describe_estimate(rack.items_per_s),
        "used_w": rack.plan.used_w,
        "margin_percent": rack.plan.margin_percent,
        "spare_w_per_node": rack.spare_w,
        "one_more_node_below_w": rack.one_more_w,
        "kwh_per_year": kwh,
        "eur_per_year": kwh * price_per_kwh,
    }


def _describe_estimate(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "ci95": estimate.ci95, "n": estimate.n}


def _list_caps_w(points: Sequence[Point] | None) -> list[float | None] | None:
    return None if points is None else [point.cap_w for point in points]
