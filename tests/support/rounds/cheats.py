"""Changes by which a center would change more of a round than its own bundle."""

import shutil
from collections.abc import Callable
from pathlib import Path

from support.rounds.repository import run_git

Edit = Callable[[Path], object]
"""Changes a checkout of the round."""
REVIEWER = "zoe@elsewhere.org"
ROUND = "submissions/honest/h200/run-0001"
"""A bundle of another center, which is in the round."""
NEW = "submissions/cheat/h200/run-0004"
"""The bundle that the pull request adds."""
PROTECTED = "only the person who runs the round changes"


def change_text(path: Path, text: str = "{}\n") -> None:
    path.write_text(text)


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


PATH_CHEATS: dict[str, tuple[Edit, str]] = {
    "a bundle of another center": (
        lambda clone: change_text(clone / ROUND / "result.json"),
        f"{ROUND}/result.json: is in the round and changes",
    ),
    "a file in the bundle of another center": (
        lambda clone: change_text(clone / ROUND / "notes.txt"),
        f"{ROUND}/notes.txt: is added to a bundle that is in the round",
    ),
    "no bundle of another center": (
        lambda clone: shutil.rmtree(clone / ROUND),
        f"{ROUND}/MANIFEST.json: is removed",
    ),
    "an own accepted bundle": (
        lambda clone: change_text(clone / "submissions/cheat/h200/run-0002/result.json"),
        "submissions/cheat/h200/run-0002/result.json: is in the round and changes",
    ),
    "no review": (
        lambda clone: (
            clone / f"submissions/cheat/h200/run-0002/signatures/review.{REVIEWER}.json"
        ).unlink(),
        f"submissions/cheat/h200/run-0002/signatures/review.{REVIEWER}.json: is removed",
    ),
    "the keyring": (
        lambda clone: append(
            clone / "submissions/keyring/allowed_signers",
            'honest@wattmark namespaces="submission@wattmark" ssh-ed25519 AAAA\n',
        ),
        f"submissions/keyring/allowed_signers: {PROTECTED} the keyring",
    ),
    "a revoked key": (
        lambda clone: change_text(clone / "submissions/keyring/revoked_signers", ""),
        f"submissions/keyring/revoked_signers: {PROTECTED} the keyring",
    ),
    "the LOG": (
        lambda clone: append(clone / "submissions/LOG", "{}\n"),
        f"submissions/LOG: {PROTECTED} the LOG",
    ),
    "a waiver": (
        lambda clone: (
            (clone / "submissions/waivers").mkdir(),
            change_text(clone / "submissions/waivers/T102.json"),
        ),
        f"submissions/waivers/T102.json: {PROTECTED} the waivers",
    ),
    "zeros that git packs to nothing": (
        lambda clone: (
            (clone / NEW).mkdir(parents=True, exist_ok=True),
            (clone / NEW / "samples.csv.gz").write_bytes(bytes(33 * 2**20)),
        ),
        f"{NEW}/samples.csv.gz: has 33 MiB; a file has at most 32 MiB",
    ),
    "a flood of directories": (
        lambda clone: [
            (
                (clone / f"submissions/cheat/h200/run-{number}").mkdir(parents=True),
                change_text(clone / f"submissions/cheat/h200/run-{number}/MANIFEST.json"),
            )
            for number in range(10_000, 15_001)
        ],
        "at most 5000 files and 256 MiB are looked at",
    ),
    "more files than a person reads": (
        lambda clone: [change_text(clone / f"note-{number}.txt") for number in range(150)],
        "refused 50 more files",
    ),
    "the workflow": (
        lambda clone: append(clone / ".github/workflows/pull-request.yml", "# passes\n"),
        ".github/workflows/pull-request.yml: is not a file of a bundle",
    ),
    "a new workflow": (
        lambda clone: change_text(clone / ".github/workflows/paths.yml", "on: pull_request\n"),
        ".github/workflows/paths.yml: is not a file of a bundle",
    ),
    "the script": (
        lambda clone: change_text(clone / "check_pull_request.py", "raise SystemExit(0)\n"),
        "check_pull_request.py: is not a file of a bundle",
    ),
    "the attributes of git": (
        lambda clone: change_text(
            clone / "submissions/cheat/h200/.gitattributes", "* export-ignore\n"
        ),
        "submissions/cheat/h200/.gitattributes: is hidden",
    ),
    "a link": (
        lambda clone: replace_by_link(clone / NEW / "result.json"),
        f"{NEW}/result.json: is a symbolic link",
    ),
    "a directory that is a link": (
        lambda clone: ((clone / "submissions/cheat/h100").symlink_to("../honest/h200"),),
        "submissions/cheat/h100: is a symbolic link",
    ),
    "an executable": (
        lambda clone: (clone / NEW / "result.json").chmod(0o755),
        f"{NEW}/result.json: has the mode 100755",
    ),
    "a submodule": (
        lambda clone: (
            run_git(clone / "submissions/cheat", "init", "--quiet", "library"),
            run_git(
                clone / "submissions/cheat/library",
                *("commit", "--quiet", "--allow-empty", "--message", "Empty"),
            ),
        ),
        "submissions/cheat/library: is a submodule",
    ),
    "a bundle in place of a system": (
        lambda clone: (clone / NEW).rename(clone / "submissions/cheat/run-0004"),
        "submissions/cheat/run-0004/MANIFEST.json: is not in a directory submissions/CENTER/",
    ),
    "a bundle in a bundle": (
        lambda clone: shutil.move(clone / NEW, clone / ROUND / "run-0004"),
        f"{ROUND}/run-0004/MANIFEST.json: is in a bundle inside of another one, {ROUND}",
    ),
    "a file beside the bundle": (
        lambda clone: change_text(clone / "submissions/cheat/index.html"),
        "submissions/cheat/index.html: is in no bundle",
    ),
    "a name with a command of GitHub": (
        lambda clone: change_text(clone / "::stop-commands::x"),
        "refused ::stop-commands::x: is not a file of a bundle",
    ),
    "a name with markup": (
        lambda clone: change_text(clone / "``` <img src=x>.md"),
        "``` <img src=x>.md: is not a file of a bundle",
    ),
    "a name with a line end": (
        lambda clone: change_text(clone / NEW / "a\nb"),
        f"{NEW}/a\\nb: is hidden or has an unprintable name",
    ),
}
