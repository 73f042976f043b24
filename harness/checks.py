"""The result of a check before a run, and the checks that need no accelerator. `doctor` makes them
for the machine, and `harness.run.preflight` for one run."""

import importlib.util
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checker.extras import advise_extra
from harness.container_image import CONTAINER_VARIABLE, find_container_image
from harness.errors import MachineError
from harness.system import EXTRAS, read_git_state
from rules.boards import driver_chooses_state
from rules.checks.system.container_missing import has_digest

MIN_FREE_BYTES = 100_000_000
"""More than the tables and the log of a run on eight accelerators take before they are packed."""


class StackError(MachineError):
    """A package that the workload needs is not installed."""


class TargetError(MachineError):
    """The directory for the results cannot be written."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool | None
    """Whether it holds. None if something is missing that does not prevent a run."""
    result: str
    advice: str = ""
    error: Exception | None = field(default=None, compare=False)
    """The error that a run would end with."""
    subject: str = ""
    """The board that a meter reads."""

    def __str__(self) -> str:
        mark = {True: "ok", False: "no", None: "-"}[self.ok]
        return f"{mark:3} {self.name}: {self.describe()}"

    @property
    def is_usable(self) -> bool:
        """Whether what was checked can be used. A node meter can be usable and need attention."""
        return self.ok is True or (self.ok is None and self.name.startswith("node meter "))

    def describe(self) -> str:
        """The result, and what to do."""
        return f"{self.result}; {self.advice}" if self.advice else self.result


def advise_on_package(name: str) -> str:
    """How to install a package of a stack."""
    if extra := EXTRAS.get(name):
        return f"{advise_extra(extra)}; each stack needs an environment of its own"
    return (
        "install a stack, which brings it; one simulated board without --smoke needs none "
        "(docs/simulated.md)"
    )


def check_packages(what: str, names: Iterable[str]) -> Check:
    """Check that packages are installed, without importing them, which may take seconds."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            advice = advise_on_package(name)
            error = StackError(f"{name} is not installed; {advice}")
            return Check(what, False, f"{name} is not installed", advice, error)
    return Check(what, True, f"{', '.join(names)} installed")


def check_target(out: Path) -> Check:
    """Check that results can be written to `out`, which need not exist. Raises TargetError."""
    advice = "give a directory that can be written"
    try:
        place = next(path for path in (out, *out.absolute().parents) if os.path.lexists(path))
        if not place.is_dir():
            raise TargetError(f"--out {out}: {place} is no directory; {advice}")
        # False on a read-only file system too, also for root.
        if not os.access(place, os.W_OK | os.X_OK):
            raise TargetError(f"--out {out}: {place} cannot be written; {advice}")
        free_bytes = shutil.disk_usage(place).free
    except OSError as error:
        raise TargetError(f"--out {out}: cannot be read ({error.strerror}); {advice}") from None
    if free_bytes < MIN_FREE_BYTES:
        raise TargetError(
            f"--out {out}: {free_bytes / 1e6:.0f} MB free, and a run may take "
            f"{MIN_FREE_BYTES / 1e6:.0f} MB; make room, or give another directory"
        )
    return Check("target", True, f"{out}, {free_bytes / 1e9:.1f} GB free")


def check_code() -> Check:
    """Check that the code is committed, because results of other code cannot be reproduced."""
    git = read_git_state(Path(__file__).parents[1])
    if git is None:
        return Check("code", True, "installed, no checkout")
    if git["dirty"]:
        return Check(
            "code",
            None,
            "the checkout has changes that are not committed, so the check will warn (M108)",
            "commit them first",
        )
    return Check("code", True, f"commit {git['commit'][:12]}")


def check_container() -> Check:
    """Check that the digest of the container image can be recorded, if this is a container."""
    image = find_container_image(os.environ)
    if image.is_contradicted:
        return Check(
            "container",
            None,
            f"{CONTAINER_VARIABLE} is {image.handed_over}, and the {image.runtime} image here is "
            f"{image.digest}; the bundle records both",
            f"unset {CONTAINER_VARIABLE}, or set it to the digest of this image",
        )
    if image.declared is not None and not has_digest(image.declared):
        return Check(
            "container",
            None,
            f"{CONTAINER_VARIABLE} is {image.declared}, which names no digest, so the check will "
            "note it (M112)",
            f"set {CONTAINER_VARIABLE}=sha256:DIGEST (containers/README.md)",
        )
    if image.declared is not None:
        return Check("container", True, f"{image.runtime or 'image'} {image.declared}")
    if image.runtime is None:
        return Check("container", True, "none")
    return Check(
        "container",
        None,
        f"the bundle will not name the image of this {image.runtime} container: {image.obstacle}",
        f"start the container with {CONTAINER_VARIABLE}=sha256:DIGEST (containers/README.md)",
    )


def check_signing() -> Check:
    """Check that bundles can be signed on this machine."""
    if path := shutil.which("ssh-keygen"):
        return Check("signing", True, path)
    return Check(
        "signing",
        None,
        "ssh-keygen is not installed",
        "install OpenSSH's client, or sign the bundle on another machine",
    )


def check_power_state(name: str, state: str | None) -> Iterator[Check]:
    """Say so if the driver of the board chooses the power state, of which `state` is declared."""
    if driver_chooses_state(name):
        found = (
            f"the driver of {name} chooses the state of CUDA, in most cases {state}, with a "
            "memory clock below that of P0; nobody can set another one, so the results are those "
            "of the state that the board keeps (C104)"
        )
        yield Check("power state", None, found)
