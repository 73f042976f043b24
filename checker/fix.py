"""`bench-check --fix`: makes anew what a bundle states from what it holds, before it is signed.

Figures follow from the tables, the form of JSON from its content and the manifest from the files. Tables and log are evidence and
are never written; nor is anything of a bundle that somebody has signed.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from checker.documents import read_document
from checker.files import Files, Refused, read_files
from checker.find import below
from checker.load import read_evidence
from checker.seal import json_bytes, manifest_bytes, write_durable
from checker.shown import printable
from checker.verify import manifest_problems
from rules.records import JSON_FILES, MANIFEST_FILE, MANIFEST_FORMAT, SIGNATURE_DIR, Evidence, Json
from rules.rule import Bundle

_SHOWN = 10
"""How many changed figures of a bundle are told one by one."""


class Unfixable(Exception):
    """The bundle is left as it is; the message says why."""


def fix_all(paths: Iterable[Path], tell: Callable[[str], None]) -> bool:
    """Fix every bundle below `paths` and `tell` what was changed, line by line. Returns whether any had to be left as it is."""
    refused = False
    for root in paths:
        places = below(root)
        for path in places.published:
            tell(f"not fixed: {printable(str(path))}: published figures are transcribed, not computed")
        for path in places.bundles:
            try:
                for change in fix(path):
                    tell(f"fixed: {printable(f'{path}: {change}')}")
            except Unfixable as why:
                tell(f"not fixed: {printable(f'{path}: {why}')}")
                refused = True
            except OSError as error:
                tell(f"not fixed: {printable(f'{path}: {error.filename or path} cannot be written: {error.strerror}')}")
                refused = True
    return refused


def fix(bundle: Path) -> list[str]:
    """Fix one bundle, and say what was changed: nothing, where all is as it should be. Raises Unfixable and OSError."""
    files = read_files(bundle)
    _refuse(bundle, files)
    evidence, problems = read_evidence(files)
    if evidence is None:
        raise Unfixable(f"the evidence cannot be read: {_first(problems)}")
    changes = list(_figures(bundle, evidence))
    if len(changes) > _SHOWN:
        changes[_SHOWN:] = [f"result.json: {len(changes) - _SHOWN} figures more"]
    new = dict(files.contents)
    for name, value in zip(JSON_FILES, (evidence.result, evidence.system, evidence.environment), strict=True):
        new[name] = json_bytes(value)
        if new[name] != files.contents[name] and not (name == "result.json" and changes):
            changes.append(f"{name}: written anew in the form of bundles, with the same content")
    new[MANIFEST_FILE] = manifest_bytes(new)
    if new[MANIFEST_FILE] != files.contents.get(MANIFEST_FILE):
        changes.append(f"{MANIFEST_FILE}: {'made anew' if MANIFEST_FILE in files.contents else 'made; there was none'}")
    for name in (*JSON_FILES, MANIFEST_FILE):
        if new[name] != files.contents.get(name):
            write_durable(bundle / name, new[name])
    return changes


def _refuse(bundle: Path, files: Files) -> None:
    """Raises Unfixable for what is signed, and where something else than the manifest is missing, odd or altered."""
    if (bundle / SIGNATURE_DIR).is_symlink() or (bundle / SIGNATURE_DIR).exists():
        raise Unfixable(
            f"it is signed, and what is signed stays as it is; to change it, remove {SIGNATURE_DIR}/ and sign it again"
        )
    if odd := [p for p in files.problems if (p.rule, p.found.file) != ("S101", MANIFEST_FILE)]:
        raise Unfixable(_first(odd))
    try:
        manifest = read_document(MANIFEST_FILE, files.contents.get(MANIFEST_FILE, b""), MANIFEST_FORMAT)
    except Refused:
        return
    listed = {entry["path"] for entry in manifest["files"]}
    altered = [p for p in manifest_problems(files.contents) if p.rule == "I101" and p.found.file not in JSON_FILES]
    if altered:
        raise Unfixable(f"{altered[0].found.file} is not what the run wrote, and evidence is never made anew; restore it")
    if unlisted := sorted(files.contents.keys() - listed - {MANIFEST_FILE, *JSON_FILES}):
        raise Unfixable(f"{unlisted[0]} is evidence that the manifest does not list; restore the manifest or run again")


def _first(problems: Iterable[Any]) -> str:
    problem = next(iter(problems))
    return f"{problem.rule} {problem.found.file}: {problem.found.found}"


def _figures(bundle: Path, evidence: Evidence) -> Iterator[str]:
    """Put the figures that follow from the tables into `evidence.result`, where others stand; says which. Raises Unfixable."""
    judged = Bundle(bundle, (), evidence)
    try:
        right = judged.computed
    except (LookupError, ValueError, ArithmeticError) as error:
        raise Unfixable(f"the figures cannot be computed: {error}") from None
    if isinstance(right, str):
        raise Unfixable(f"the figures cannot be computed: {right}")
    stated = {epoch["epoch"]: epoch for epoch in evidence.result["epochs"]}
    if [epoch["epoch"] for epoch in right["epochs"]] != list(stated):
        raise Unfixable("result.json has other epochs than the tables")
    # losses and extensions are no figures: they stay
    right["epochs"] = [{**stated[epoch["epoch"]], **epoch} for epoch in right["epochs"]]
    before = _leaves({name: evidence.result.get(name) for name in right})
    tolerance = judged.protocol.recompute_tolerance
    changed = [(at, before.get(at), value) for at, value in _leaves(right).items() if not _same(before.get(at), value, tolerance)]
    if changed:
        evidence.result.update(right)
    yield from (f"result.json {at}: {_shown(was)} is now {_shown(value)}" for at, was, value in changed)


def _leaves(value: Any, at: str = "") -> Json:
    """Every value that holds no others, by its JSON pointer."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not inner:
        return {at: value}
    return {pointer: leaf for name, own in inner for pointer, leaf in _leaves(own, f"{at}/{name}").items()}


def _same(stated: Any, right: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if (
        isinstance(stated, numbers)
        and isinstance(right, numbers)
        and not isinstance(stated, bool)
        and not isinstance(right, bool)
    ):
        return math.isclose(stated, right, rel_tol=tolerance)
    return bool(stated == right)


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)
