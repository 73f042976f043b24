"""Chooses changes of all modules at random, by a seed."""

from collections import defaultdict
from pathlib import Path
from random import Random

from code_changes import Change, compiles, find_changes
from code_mutation_table import PACKAGES, STRICT

ROOT = Path(__file__).parents[2]
LEFT_OUT = "rules/testing/"
"""The mutations that the rules are tested with; they are tests themselves."""
SHARES = {"rules": 0.26, "harness": 0.25, "reporting": 0.2, "checker": 0.1, "reference": 0.04}
"""Of the changes, by package. The strict modules get the rest."""


def choose_changes(count: int, seed: int) -> list[Change]:
    """Changes of all modules in a random order, in which every beginning is a sample: from each
    package its share, from each module in proportion to the root of its size, of every kind."""
    ranked: dict[str, list[tuple[float, Change]]] = defaultdict(list)
    for path in sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file.startswith(LEFT_OUT):
            continue
        random = Random(f"{seed} {file}")  # so that a change to another module alters nothing here
        changes = _alternate_kinds(find_changes(file, path.read_bytes()), random)
        part = "strict" if file.startswith(STRICT) else path.relative_to(ROOT).parts[0]
        step = 1 / max(1, len(changes)) ** 0.5
        ranked[part] += [((n + random.random()) * step, change) for n, change in enumerate(changes)]
    shares = SHARES | {"strict": 1 - sum(SHARES.values())}
    order = []
    for part, share in shares.items():
        changes = [change for _, change in sorted(ranked[part], key=lambda item: item[0])]
        order += [(number / share, change) for number, change in enumerate(changes)]
    order.sort(key=lambda item: item[0])
    chosen = []
    for _, change in order:
        if compiles(change.apply((ROOT / change.file).read_bytes())):
            chosen.append(change)
        if len(chosen) == count:
            break
    return chosen


def _alternate_kinds(changes: list[Change], random: Random) -> list[Change]:
    """Shuffled so that the first changes are of different kinds."""
    random.shuffle(changes)
    seen: dict[str, int] = defaultdict(int)
    rounds = []
    for change in changes:
        rounds.append((seen[change.kind], random.random(), change))
        seen[change.kind] += 1
    return [change for *_, change in sorted(rounds, key=lambda item: item[:2])]
