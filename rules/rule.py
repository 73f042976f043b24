"""A rule: one file in `rules/checks/`, named after the offence, that looks at a bundle and says
what is wrong with it.

Such a file holds a docstring, which is the rule's page (a title line, then the sections `## What it
does`, `## Why it is bad`, `## What to do` and `## Source`), one `RULE`, one function marked
`@RULE.check`, and the ways of spoiling a good bundle that the rule must notice: `@RULE.mutation`
alters the evidence before it is sealed and signed, `@RULE.tampering` alters the files afterwards.

A rule across the bundles of a round (family X) has a function marked `@RULE.across` in place of the
check. It sees a digest of each bundle that has passed, and its ways of spoiling, `@RULE.pairing`,
alter two good bundles.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rules.checks
from rules.bundle_format.records import Evidence, Json, Read
from rules.protocol import PROTOCOLS, Protocol
from rules.workloads import Workload, workloads

if TYPE_CHECKING:
    from rules.bundle_format.table import Ints, Table
    from rules.metrics.power_series import Series
    from rules.metrics.run import Part
    from rules.run_summary import Digest


FAMILIES = {
    "S": "Schema and form",
    "I": "Integrity and signature",
    "P": "Protocol",
    "W": "Power readings",
    "C": "Caps and states",
    "E": "Energy",
    "T": "Throughput and plausibility",
    "M": "System and environment",
    "X": "Across the bundles of a submission",
}
"""By the first letter of an id, in the order in which they are listed."""
STANDINGS = ("closed", "open", "demo")
MOST_FINDINGS = 10
"""How many findings of one rule on one bundle are listed."""


class Severity(StrEnum):
    ERROR = "error"
    """The bundle may not be used."""
    WARNING = "warning"
    """The bundle stands, and is shown with a mark."""
    NOTE = "note"
    """Worth a reviewer's look."""


@dataclass(frozen=True)
class Found:
    """What a check has to say: where, what was found, what was expected, and what it means or what
    to do about it."""

    file: str
    pointer: str
    """A JSON pointer (`/epochs/3/items`) in a JSON file, `row 12` or `rows 12-40` in a table, empty
    for the whole file."""
    found: str
    expected: str
    message: str


@dataclass(frozen=True)
class Finding:
    """A `Found` with the rule that said it."""

    rule: str
    severity: Severity
    file: str
    pointer: str
    found: str
    expected: str
    message: str
    waived: str = ""
    """The waiver's file, where one lifts this; empty where none does."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with the form or the integrity of a bundle, met while it was read; `rule` is
    whose offence it is."""

    rule: str
    found: Found


@dataclass
class Bundle:
    """A bundle as the rules see it. `evidence` is None where problems of form kept it from being
    read."""

    path: Path
    problems: tuple[Problem, ...]
    evidence: Read | None

    @property
    def result(self) -> Json:
        return self._evidence.result

    @property
    def system(self) -> Json:
        return self._evidence.system

    @property
    def environment(self) -> Json:
        return self._evidence.environment

    @property
    def samples(self) -> "Table":
        return self._evidence.samples

    @property
    def batches(self) -> "Table":
        return self._evidence.batches

    @property
    def requests(self) -> "Table | None":
        """None where nothing was served, and where it was but the table is missing (P115 says
        it)."""
        return self._evidence.requests

    @property
    def log(self) -> str:
        return self._evidence.log

    @property
    def _evidence(self) -> Read:
        if self.evidence is None:
            raise LookupError(f"{self.path}: the evidence could not be read")
        return self.evidence

    @property
    def standing(self) -> str:
        return str(self.result["standing"])

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.result["protocol"]]

    @property
    def workload(self) -> Workload:
        return workloads()[self.result["workload"]]

    @cached_property
    def accelerators(self) -> Mapping[str, Json]:
        """The accelerators of system.json by UUID."""
        return {a["uuid"]: a for node in self.system["nodes"] for a in node["accelerators"]}

    @cached_property
    def samples_of(self) -> "Mapping[str, Table]":
        """The samples of each sampled accelerator, in the order of the file."""
        from rules.metrics import intervals as grouping

        return grouping.by_accelerator(self.samples)

    @cached_property
    def batches_of(self) -> "Mapping[tuple[int, int], Ints]":
        """The places of the batches of each epoch and rank, in that order, and of each in the order
        of their numbers."""
        from rules.metrics import intervals as grouping

        return grouping.by_epoch_and_rank(self.batches)

    @cached_property
    def spans(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """Start of the first and end of the last batch in ns, by epoch and rank, in that order."""
        start_ns, end_ns = (self.batches.ints(name) for name in ("start_ns", "end_ns"))
        return {
            key: (int(start_ns[at].min()), int(end_ns[at].max()))
            for key, at in self.batches_of.items()
        }

    @cached_property
    def scored_spans_of(self) -> Mapping[int, list[tuple[int, int]]]:
        """The spans of each rank in the scored epochs, where it has any."""
        found: dict[int, list[tuple[int, int]]] = {}
        for (epoch, rank), span in self.spans.items():
            if epoch >= self.protocol.discarded_epochs:
                found.setdefault(rank, []).append(span)
        return found

    @cached_property
    def accelerator_ranks(self) -> Mapping[str, int]:
        """The rank of each accelerator that belongs to one."""
        return {uuid: r["rank"] for r in self.result["ranks"] for uuid in r["accelerators"]}

    @cached_property
    def parts(self) -> "tuple[Part, ...] | str":
        """What each accelerator did in each epoch, or the reason why the evidence does not tell
        (T101 says it)."""
        from rules.metrics import run as metrics

        try:
            return tuple(
                metrics.parts_of(self.result, self.samples_of, self.batches, self.batches_of)
            )
        except metrics.MetricsError as error:
            return str(error)

    @cached_property
    def computed(self) -> "Json | str":
        """The figures recomputed from the raw tables (see `metrics.figures`), or the reason why
        they cannot be."""
        from rules.metrics import run as metrics

        if isinstance(self.parts, str):
            return self.parts
        try:
            return metrics.figures(self.result, self.system, self.parts, self.requests)
        except metrics.MetricsError as error:
            return str(error)

    @cached_property
    def scored_parts(self) -> "tuple[Part, ...]":
        """The parts of the scored epochs; empty where the evidence does not tell."""
        every = () if isinstance(self.parts, str) else self.parts
        return tuple(p for p in every if p.epoch >= self.protocol.discarded_epochs)

    @cached_property
    def series(self) -> "tuple[Series, ...]":
        """The readings of each accelerator that worked, as arrays."""
        from rules.metrics.power_series import series

        return series(self)

    @cached_property
    def scored_samples(self) -> "Table":
        """The samples inside active windows of scored epochs; empty where there are none."""
        return self._at([p.places for p in self.scored_parts])

    @cached_property
    def scored_samples_of(self) -> "Mapping[str, Table]":
        """The same by accelerator, where there are any."""
        places: dict[str, list[Any]] = {}
        for part in self.scored_parts:
            places.setdefault(part.accelerator, []).append(part.places)
        return {name: self._at(own) for name, own in places.items() if any(map(len, own))}

    def _at(self, places: list[Any]) -> "Table":
        import numpy as np

        return self.samples.at(np.concatenate(places) if places else slice(0))


Check = Callable[[Bundle], Iterator[Found]]
Across = Callable[[Sequence["Digest"]], Iterator[tuple[Path, Found]]]
"""Gives what it has to say with the path of the bundle that it says it of."""
Mutate = Callable[[Evidence], None]
Pair = Callable[[Evidence, Evidence], None]
Tamper = Callable[[Path], None]


@dataclass(frozen=True)
class Mutation:
    """One way to spoil the evidence of a good bundle. `companions` are other rules that rightly
    speak as well, and `sometimes` those that do so on some evidence, such as that of a board whose
    power swings within a batch.

    With `rederive` the stated figures are computed anew from the spoilt evidence, as a careful
    cheat would. Where `serving`, the good bundle to spoil is that of a server.
    """

    name: str
    apply: Mutate
    companions: frozenset[str]
    sometimes: frozenset[str]
    rederive: bool
    serving: bool


@dataclass(frozen=True)
class Tampering:
    """One way to spoil the files of a sealed and signed bundle, given its directory."""

    name: str
    apply: Tamper
    companions: frozenset[str]
    reseal: bool
    """Whether the manifest and the signature are made anew afterwards, as the submitter could."""


@dataclass(frozen=True)
class Pairing:
    """One way to spoil the evidence of two good bundles of one submission, so that together they
    cannot stand.

    The first of the two is the one at fault, or, with `both`, each of them. With `elsewhere` the
    second is of another center.
    """

    name: str
    apply: Pair
    companions: frozenset[str]
    both: bool
    elsewhere: bool


def _nothing(_: object) -> Iterator[Any]:
    return iter(())


@dataclass
class Rule:
    """One rule of the book. `standings` are those it applies to; `since` is the first protocol
    version it holds for, and `added` the version of the rule book that has it first: what was
    accepted before is not refused by it."""

    id: str
    severity: Severity
    since: str = "1.0"
    added: str = "1.0.0"
    standings: tuple[str, ...] = STANDINGS
    sees_withdrawn: bool = False
    """Whether a rule across bundles compares with withdrawn ones too: what was withdrawn is not
    handed in again."""
    statistical: bool = False
    """Whether it judges how likely readings are: it may speak beside any rule on readings that were
    altered."""
    waivable: bool = True
    """Whether a waiver can lift it: not where a statement is false, whatever the circumstances, and
    never one on form."""
    name: str = field(default="", init=False)
    page: str = field(default="", init=False)
    run: Check = field(default_factory=lambda: _nothing, init=False)
    run_across: Across = field(default_factory=lambda: _nothing, init=False)
    mutations: list[Mutation] = field(default_factory=list, init=False)
    tamperings: list[Tampering] = field(default_factory=list, init=False)
    pairings: list[Pairing] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.waivable = self.waivable and not self.on_form

    def check(self, function: Check) -> Check:
        """Mark the function that looks at a bundle."""
        self.run = function
        return function

    def across(self, function: Across) -> Across:
        """Mark the function that looks at all the bundles of a round."""
        self.run_across = function
        return function

    def problems(self, bundle: Bundle) -> Iterator[Found]:
        """The problems met while the bundle was read that are this rule's: the check of rules on
        form and integrity."""
        return (p.found for p in bundle.problems if p.rule == self.id)

    def mutation(
        self,
        *companions: str,
        sometimes: tuple[str, ...] = (),
        rederive: bool = True,
        serving: bool = False,
    ) -> Callable[[Mutate], Mutate]:
        """Mark a way to spoil the evidence of a good bundle that this rule must notice."""

        def mark(function: Mutate) -> Mutate:
            others = frozenset(companions), frozenset(sometimes)
            self.mutations.append(Mutation(function.__name__, function, *others, rederive, serving))
            return function

        return mark

    def tampering(self, *companions: str, reseal: bool = False) -> Callable[[Tamper], Tamper]:
        """Mark a way to spoil the files of a sealed bundle that this rule must notice."""

        def mark(function: Tamper) -> Tamper:
            self.tamperings.append(
                Tampering(function.__name__, function, frozenset(companions), reseal)
            )
            return function

        return mark

    def pairing(
        self, *companions: str, both: bool = False, elsewhere: bool = False
    ) -> Callable[[Pair], Pair]:
        """Mark a way to spoil the evidence of two good bundles that this rule must notice."""

        def mark(function: Pair) -> Pair:
            self.pairings.append(
                Pairing(function.__name__, function, frozenset(companions), both, elsewhere)
            )
            return function

        return mark

    def judge(self, bundle: Bundle) -> Iterator[Finding]:
        """The findings of this rule on a bundle; of more than `MOST_FINDINGS` the rest are only
        counted."""
        found = list(self.run(bundle))
        rest = len(found) - MOST_FINDINGS
        if rest > 0:
            more = Found(
                found[0].file,
                "",
                f"{rest} more of the kind",
                "none",
                "They are not listed one by one.",
            )
            found[MOST_FINDINGS:] = [more]
        return map(self._finding, found)

    def judge_across(self, digests: "Sequence[Digest]") -> Iterator[tuple[Path, Finding]]:
        """The findings of this rule on the bundles of a round, each with the path of its bundle."""
        return ((path, self._finding(found)) for path, found in self.run_across(digests))

    def _finding(self, f: Found) -> Finding:
        return Finding(self.id, self.severity, f.file, f.pointer, f.found, f.expected, f.message)

    @property
    def title(self) -> str:
        """The first line of the page: the offence, in words."""
        return self.page.partition("\n")[0]

    @property
    def on_bundles(self) -> bool:
        """Whether the rule looks at single bundles, and not only across them."""
        return self.run is not _nothing

    @property
    def on_form(self) -> bool:
        """Whether the rule looks at form and integrity, and so also at bundles whose evidence
        cannot be read."""
        return self.id[0] in "SI"


@cache
def rules_by_id() -> Mapping[str, Rule]:
    """All rules of the book by id: every module below `rules/checks/` defines one. Raises
    ValueError for an id used twice."""
    found: dict[str, Rule] = {}
    for info in pkgutil.walk_packages(rules.checks.__path__, f"{rules.checks.__name__}."):
        if info.ispkg:
            continue
        module: Any = importlib.import_module(info.name)
        rule: Rule = module.RULE
        rule.name = info.name.rpartition(".")[2].replace("_", "-")
        rule.page = (module.__doc__ or "").strip()
        if rule.id in found:
            raise ValueError(
                f"{info.name}: the id {rule.id} is already that of {found[rule.id].name}"
            )
        found[rule.id] = rule
    return dict(sorted(found.items()))
