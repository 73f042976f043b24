"""FLOPs, parameters or activations of a model are wrong

## What it does
Compares FLOPs, parameters and activations of each point with those of the other points of the model
at this size, which must be equal. Compares FLOPs of models from 1 GMAC on with the table that comes
with the rule book, within 4 %, and parameters within 2 %. FLOPs of RepVGG, Sequencer and ConvMixer
are not compared with the table.

## Why it is bad
They follow from architecture and size. Other numbers belong to another model, and energy against
FLOPs or activations says something else.

## What to do
Restore points.csv.gz from the machine that measured. If timm changed the model, name the version in
an issue.

## Source
`infer_gmacs` and `param_count` of timm's tables. 1 004 models of the shipped
table have 1 GMAC or more. For 963 of them, FLOPs counted on the device `meta` agree within 2 %, and
for 24 more within 3.3 %. The others are RepVGG, whose branches timm fuses before it counts,
Sequencer, whose recurrent layers timm does not count, and ConvMixer.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y117", Severity.ERROR, added="1.7.0")

FLOPS_TOLERANCE, PARAMS_TOLERANCE = 0.04, 0.02
MIN_FLOPS = 2e9
COUNTED_OTHERWISE = ("repvgg", "sequencer2d", "convmixer")
"""Beginnings of the names of architectures whose FLOPs timm counts otherwise."""


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    table = read_shipped_table()
    first_points: dict[tuple[str, int], int] = {}
    for number, point in enumerate(bundle.points):
        first = first_points.setdefault((point.architecture, point.size), number)
        counts = table.find(point.architecture, point.size) if first == number else None
        first_point, place = bundle.points[first], f"row {number + 1}"
        for name in ("flops", "params", "activations"):
            value, expected = getattr(point, name), getattr(first_point, name)
            if value != expected:
                found = f"{point}: {value} {name}"
                yield Violation(POINTS_FILE, place, found, f"{expected} as in row {first + 1}")
        if counts is None:
            continue
        is_comparable = counts.flops >= MIN_FLOPS and not counts.architecture.startswith(
            COUNTED_OTHERWISE
        )
        if is_comparable and abs(point.flops / counts.flops - 1) > FLOPS_TOLERANCE:
            found = f"{point.model}: {point.flops / 1e9:.4g} GFLOP per image"
            yield Violation(POINTS_FILE, place, found, f"{counts.flops / 1e9:.4g}, as timm counts")
        if abs(point.params / counts.params - 1) > PARAMS_TOLERANCE:
            found = f"{point.model}: {point.params / 1e6:.4g} million parameters"
            yield Violation(POINTS_FILE, place, found, f"{counts.params / 1e6:.4g}, as timm counts")
