"""`bench-check --fix`: makes anew what a bundle states from what it holds, before it is signed.

Figures follow from the tables, and the form of JSON from its content; the manifest follows both.
Tables and log are evidence and are never written, nor is anything of a bundle that somebody has
signed; and without the manifest of the run nobody knows whether they are the run's, so there is
nothing to make anew then.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from checker.engine import judge
from checker.find import below
from checker.selection import printable
from checker.trust.authority import manifest_problems
from rules.bundle import Bundle
from rules.bundle_format.documents import read_document, read_json
from rules.bundle_format.files import Files, Refused, read_files
from rules.bundle_format.load import read_tables
from rules.bundle_format.records import (
    JSON_FILES,
    MANIFEST_FILE,
    MANIFEST_FORMAT,
    SIGNATURE_DIR,
    Json,
    Read,
)
from rules.bundle_format.seal import json_bytes, manifest_bytes, write_durable
from rules.rule_ids import FILE_ALTERED, FILE_MISSING

_SHOWN = 10
"""How many changed figures of a bundle are told one by one."""


class Unfixable(Exception):
    """The bundle is left as it is; the message says why."""


def fix_all(paths: Iterable[Path], keyring: Path | None, tell: Callable[[str], None]) -> int:
    """Fix every bundle below `paths` and `tell` what was changed, line by line.

    Returns how many had to be left as they are, though there was something to fix. Raises
    CheckerError as `judge` does.
    """
    refused = 0
    for root in paths:
        for path in below(root).bundles:
            try:
                for change in fix(path):
                    tell(f"fixed: {printable(f'{path}: {change}')}")
            except Unfixable as why:
                if _is_plain(path) and judge(path, keyring, root).status != "fail":
                    continue
                tell(f"not fixed: {printable(f'{path}: {why}')}")
                refused += 1
            except OSError as error:
                reason = f"{path}: {error.filename or path} cannot be written: {error.strerror}"
                tell(f"not fixed: {printable(reason)}")
                refused += 1
    return refused


def fix(bundle: Path) -> list[str]:
    """Fix one bundle, and say what was changed: nothing, where all is as it should be. Raises
    Unfixable and OSError."""
    files = read_files(bundle)
    _refuse(bundle, files)
    evidence, problems = read_tables(files)
    if evidence is None:
        raise Unfixable(f"the evidence cannot be read: {_first(problems)}")
    changes = list(_figures(bundle, evidence))
    if len(changes) > _SHOWN:
        changes[_SHOWN:] = [f"result.json: {len(changes) - _SHOWN} figures more"]
    new = dict(files.contents)
    for name, value in zip(
        JSON_FILES, (evidence.result, evidence.system, evidence.environment), strict=True
    ):
        new[name] = json_bytes(value)
        if new[name] != files.contents[name] and not (name == "result.json" and changes):
            changes.append(f"{name}: written anew in the form of bundles, with the same content")
    new[MANIFEST_FILE] = manifest_bytes(new)
    if new[MANIFEST_FILE] != files.contents[MANIFEST_FILE]:
        changes.append(f"{MANIFEST_FILE}: made anew")
    for name in (*JSON_FILES, MANIFEST_FILE):
        if new[name] != files.contents.get(name):
            write_durable(bundle / name, new[name])
    return changes


def _is_plain(bundle: Path) -> bool:
    """Whether the JSON files of a bundle can be read and have the form in which bundles are
    written."""
    contents = read_files(bundle).contents
    try:
        return all(
            json_bytes(read_json(name, contents[name])) == contents[name]
            for name in (*JSON_FILES, MANIFEST_FILE)
        )
    except (Refused, KeyError):
        return False


def _refuse(bundle: Path, files: Files) -> None:
    """Raises Unfixable for what is signed, and where something else than the manifest is missing,
    odd or altered."""
    if (bundle / SIGNATURE_DIR).is_symlink() or (bundle / SIGNATURE_DIR).exists():
        raise Unfixable(
            "it is signed, and what is signed stays as it is; to change it, remove "
            f"{SIGNATURE_DIR}/ and sign it again"
        )
    if odd := [
        p for p in files.problems if (p.rule, p.violation.file) != (FILE_MISSING, MANIFEST_FILE)
    ]:
        raise Unfixable(_first(odd))
    if MANIFEST_FILE not in files.contents:
        raise Unfixable(
            f"there is no {MANIFEST_FILE}, and only the run that wrote the evidence can "
            "list it; restore it from where the run "
            "was made, or run again with bench-submit"
        )
    try:
        manifest = read_document(MANIFEST_FILE, files.contents[MANIFEST_FILE], MANIFEST_FORMAT)
    except Refused as refusal:
        raise Unfixable(
            f"what the run listed cannot be read: {_first(refusal.problems)}; restore it, "
            "or run again"
        ) from None
    listed = {entry["path"] for entry in manifest["files"]}
    altered = [
        p
        for p in manifest_problems(files.contents)
        if p.rule == FILE_ALTERED and p.violation.file not in JSON_FILES
    ]
    if altered:
        raise Unfixable(
            f"{altered[0].violation.file} is not what the run wrote, and evidence is never "
            "made anew; restore it"
        )
    if unlisted := sorted(files.contents.keys() - listed - {MANIFEST_FILE, *JSON_FILES}):
        raise Unfixable(
            f"{unlisted[0]} is evidence that the manifest does not list; restore the "
            "manifest or run again"
        )


def _first(problems: Iterable[Any]) -> str:
    problem = next(iter(problems))
    return f"{problem.rule} {problem.violation.file}: {problem.violation.found}"


def _figures(bundle: Path, evidence: Read) -> Iterator[str]:
    """Put the figures that follow from the tables into `evidence.result`, where others stand; says
    which. Raises Unfixable."""
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
    changed = [
        (at, before.get(at), value)
        for at, value in _leaves(right).items()
        if not _same(before.get(at), value, tolerance)
    ]
    if changed:
        evidence.result.update(right)
    yield from (
        f"result.json {at}: {_shown(was)} is now {_shown(value)}" for at, was, value in changed
    )


def _leaves(value: Any, at: str = "") -> Json:
    """Every value that holds no others, by its JSON pointer."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else None
    )
    if not inner:
        return {at: value}
    return {
        pointer: leaf
        for name, own in inner
        for pointer, leaf in _leaves(own, f"{at}/{name}").items()
    }


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
