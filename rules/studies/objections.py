"""Objections to rows of a published study, with the passages that they rest on.

A rule may doubt many published rows. A row carries the doubt only if the document objects to it by
that rule and quotes the publication. All other findings are notes in the documentation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rules.bundle_format.records import Json
from rules.declarations.quotation import Quotation
from rules.declarations.record import JsonRecord
from rules.studies.plausibility import find_doubts
from rules.studies.results import ModelResult


@dataclass(frozen=True)
class Objection(JsonRecord):
    """An objection to rows of a setup."""

    rule: str
    """The id of the rule that finds the rows."""
    setup: int
    """Number of the setup, from 0."""
    models: Sequence[int] | None
    """Numbers of the models, from 0. None: all models of the setup."""
    quotes: tuple[Quotation, ...]

    def concerns(self, setup: int, model: int) -> bool:
        return self.setup == setup and (self.models is None or model in self.models)


def parse_objections(document: Json) -> tuple[Objection, ...]:
    """The objections of a published study."""
    records = enumerate(document.get("objections", ()))
    return tuple(Objection.from_json(f"/objections/{i}", record) for i, record in records)


def mark_doubts(
    results: Sequence[ModelResult],
    places: Sequence[tuple[int, int]],
    objections: Iterable[Objection],
) -> tuple[ModelResult, ...]:
    """The results with the doubts of the rules, as far as an objection quotes the publication.

    `places` has the numbers of setup and model of each result.
    """
    stated = tuple(objections)
    return tuple(
        _mark(result, doubts, [o for o in stated if o.concerns(*place)])
        for result, place, doubts in zip(results, places, find_doubts(results), strict=True)
    )


def _mark(
    result: ModelResult, doubts: Sequence[str], objections: Sequence[Objection]
) -> ModelResult:
    kept = [objection for objection in objections if objection.rule in doubts]
    if not kept:
        return result
    rules = {objection.rule for objection in kept}
    return replace(
        result,
        doubts=tuple(rule for rule in doubts if rule in rules),
        quotes=tuple(str(quote) for objection in kept for quote in objection.quotes),
    )
