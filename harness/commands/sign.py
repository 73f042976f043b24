"""The steps of `bench-submit sign`."""

from dataclasses import dataclass
from pathlib import Path

from checker.engine import judge
from checker.find import find_places
from harness.sign import (
    SigningError,
    check_keyring,
    describe_next_step,
    find_place,
    make_signatures,
    prepare_manifest,
    write_signatures,
)
from rules.bundle_format.records import MANIFEST_FILE
from rules.finding import Severity
from rules.registry import is_form_finding


@dataclass(frozen=True)
class Signed:
    """What `sign` has written."""

    signature: Path
    removed: tuple[Path, ...]
    """Signatures of earlier submitters."""
    request: Path | None
    """Hands the bundle in to the round; None outside a directory with a keyring."""
    not_compared: str
    """Why no keyring was asked; empty if one was."""
    place: str
    """The directory in which the signature counts."""
    next_step: str
    """What remains to be done."""

    def __str__(self) -> str:
        lines = [f"signed: {self.signature}"]
        lines += [f"removed: {path}, because a bundle has one submitter" for path in self.removed]
        if self.request:
            lines.append(f"handed in: {self.request}")
        if self.not_compared:
            lines.append(f"not compared with a keyring: {self.not_compared}")
            lines.append(
                f"signed for the directory {self.place}; the signature is void in another one: "
                "sign again after a move to submissions/CENTER/SYSTEM/ beside a keyring"
            )
        return "\n".join([*lines, f"next: {self.next_step}"])


def sign(bundle: Path, key: Path, principal: str) -> Signed:
    """Sign an intact bundle, if the keyring above it allows that. Raises SigningError."""
    if not (bundle / MANIFEST_FILE).exists() and (
        nested_bundles := [place for place in find_places(bundle).bundles if place != bundle]
    ):
        raise SigningError(
            f"{bundle}: this is not a bundle; it holds {len(nested_bundles)}: sign each of them, "
            f"as {nested_bundles[0]}"
        )
    errors = [
        finding
        for finding in judge(bundle, signed=False).findings
        # The rules on form and integrity check whether the files are intact. Findings of other
        # rules do not prevent signing.
        if finding.severity == Severity.ERROR and is_form_finding(finding)
    ]
    if errors:
        listing = "\n".join(
            f"  {error.rule} {error.file} {error.pointer}: {error.found}" for error in errors
        )
        advice = (
            f"  bench-check --fix {bundle} recomputes what follows from the tables; restore the "
            "other files, or repeat the run"
        )
        raise SigningError(
            f"{bundle}: not signed, because its files are not those that the run "
            f"wrote:\n{listing}\n{advice}"
        )
    manifest = prepare_manifest(bundle, principal)
    signed = make_signatures(bundle, manifest, key, principal)
    reason = check_keyring(bundle, signed, principal, key)
    signature, request, removed_names = write_signatures(bundle, signed, principal)
    return Signed(
        signature=signature,
        removed=tuple(signature.with_name(name) for name in removed_names),
        request=request,
        not_compared=reason or "",
        place=str(find_place(bundle, principal)),
        next_step=describe_next_step(bundle, key, principal, bool(reason)),
    )
