#!/usr/bin/env python3
"""Check a pull request of a round's repository.

    check_pull_request.py paths BASE HEAD        whether the pull request changes only what it may
    check_pull_request.py check BASE HEAD OUT    then judge it by bench-check, and build the page

BASE is the tip of the branch that the pull request is for, HEAD that of the pull request. Both are
commits of the repository in the working directory. Run the script from a checkout of BASE. It reads
HEAD as objects of git. It neither checks HEAD out nor runs anything of it. It takes git 2.38 or
newer.

OUT gets verdict.json, check.sarif, check.xml (JUnit), page/report.html and summary.md, which is the
text of a comment.

Exits with 0 if the pull request passes, with 1 if not, and with 2 if it cannot be checked.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

SUBMISSIONS = "submissions"
MANIFEST = "MANIFEST.json"
STATEMENT = re.compile(r"(review|withdrawal|request|challenge)\.[^/]+\.(json|sig)")
"""Files that reviewers and centers add to `signatures/` of a bundle that is in the round."""
COMMITMENT = re.compile(r"submissions/commitments/[^/]+-[0-9a-f]{64}\.json(\.sig)?")
"""Files by which a center publishes the hash of a bundle before the bundle."""
PROTECTED_PLACES = {"keyring": "the keyring", "LOG": "the LOG", "waivers": "the waivers"}
"""What only the person who runs the round changes, by its name in submissions/."""
KINDS = {"120000": "a symbolic link", "160000": "a submodule"}
MOST_FILES = 5_000
MOST_MIB, MOST_MIB_OF_A_FILE = 256, 32
"""What a pull request may add: files, and MiB before git packs them. A run of ten minutes on eight
boards has nine files and 2 MiB."""
MOST_REFUSALS = 100
MOST_CHARACTERS = 20_000
"""The maximum length of a section of the summary. GitHub takes 65 536 characters in a comment."""


class PullRequestError(Exception):
    """The pull request cannot be checked. The message says why."""


class GitError(PullRequestError):
    """A command of git failed."""

    def __init__(self, arguments: Sequence[str], process: subprocess.CompletedProcess[bytes]):
        self.status = process.returncode
        # merge-tree names conflicts on stdout.
        reason = (process.stderr or process.stdout).decode(errors="replace").strip()
        super().__init__(f"git {' '.join(arguments)}: {reason}")


@dataclass(frozen=True)
class Change:
    """A file that differs between the base branch and the merged tree."""

    path: str
    status: str
    """`A` if it is added, `D` if it is removed, another letter if it is changed."""
    mode: str
    """Of the file in the merged tree, such as `100644`."""
    size: int = 0
    """In bytes, as git's tree states it: nothing was extracted yet."""


@dataclass(frozen=True)
class PullRequest:
    """What the base branch would be after the merge."""

    base: str
    tree: str
    """The merged tree."""
    changes: tuple[Change, ...]
    base_bundles: frozenset[PurePosixPath]
    """The directories of the bundles of the base branch."""

    @cached_property
    def new_bundles(self) -> frozenset[PurePosixPath]:
        """The directories of the bundles that the pull request adds."""
        paths = (PurePosixPath(change.path) for change in self.changes if change.status == "A")
        return frozenset(path.parent for path in paths if path.name == MANIFEST)

    @cached_property
    def added_bundles(self) -> frozenset[PurePosixPath]:
        """The new bundles in directories that are no bundle of the base branch."""
        return self.new_bundles - self.base_bundles

    @cached_property
    def all_bundles(self) -> frozenset[PurePosixPath]:
        """The directories of the bundles of the merged tree."""
        return self.new_bundles | self.base_bundles

    @property
    def bundles(self) -> frozenset[PurePosixPath]:
        """The bundles that the pull request adds or adds statements to."""
        return frozenset(find_bundle(PurePosixPath(change.path)) for change in self.changes)


def run_git(*arguments: str, text: str = "") -> bytes:
    """Return what git prints if it reads `text`. Raises GitError."""
    process = subprocess.run(
        ["git", *arguments], input=text.encode(), capture_output=True, check=False
    )
    if process.returncode != 0:
        raise GitError(arguments, process)
    return process.stdout


def read_pull_request(base: str, head: str) -> PullRequest:
    """Merge HEAD into BASE without a working tree, and list what differs from BASE. Raises
    PullRequestError, also if the two conflict."""
    base, head = (
        run_git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
        for name in (base, head)
    )
    try:
        merged = run_git("merge-tree", "--write-tree", "--no-messages", base, head)
    except GitError as error:
        if error.status != 1:
            raise
        raise PullRequestError(
            f"the pull request conflicts with the base branch; rebase it\n{error}"
        ) from None
    tree = merged.decode().split()[0]
    # Without renames: a moved file is one that is removed and one that is added.
    fields = run_git("diff-tree", "-r", "-z", "--raw", "--no-renames", base, tree).split(b"\0")
    entries = [entry.decode().split() for entry in fields[0:-1:2]]
    sizes = read_sizes(blob for _, _, _, blob, _ in entries)
    changes = [
        Change(os.fsdecode(path), status, mode, sizes.get(blob, 0))
        for (_, mode, _, blob, status), path in zip(entries, fields[1::2], strict=True)
    ]
    names = run_git("ls-tree", "-r", "-z", "--name-only", base, f"{SUBMISSIONS}/").split(b"\0")
    paths = (PurePosixPath(os.fsdecode(name)) for name in names)
    base_bundles = frozenset(path.parent for path in paths if path.name == MANIFEST)
    return PullRequest(base, tree, tuple(changes), base_bundles)


def read_sizes(blobs: Iterable[str]) -> dict[str, int]:
    """Return the size in bytes of each blob, by its hash. No content is read. Raises GitError."""
    names = "".join(f"{blob}\n" for blob in blobs)
    printed = run_git("cat-file", "--batch-check", text=names).decode()
    answers = (line.split() for line in printed.splitlines())
    # A removed file and a submodule have no blob here.
    return {answer[0]: int(answer[2]) for answer in answers if answer[1:2] == ["blob"]}


def find_bundle(path: PurePosixPath) -> PurePosixPath:
    """The directory of the bundle that a file would belong to."""
    return path.parent.parent if path.parent.name == "signatures" else path.parent


def find_refusals(pull_request: PullRequest) -> Iterator[str]:
    """Yield a line for each file that the pull request may not change, with the reason."""
    if not pull_request.changes:
        yield "the pull request changes no file"
    if refusal := explain_flood(pull_request.changes):
        # Without a line for each of its files.
        yield refusal
        return
    centers = sorted({bundle.parts[1] for bundle in pull_request.new_bundles if bundle.parts[1:]})
    for change in pull_request.changes:
        reason = explain_wrong_place(change.path) or explain_wrong_change(change)
        if not reason and not COMMITMENT.fullmatch(change.path):
            path = PurePosixPath(change.path)
            reason = explain_wrong_bundle(path, pull_request, centers)
        if reason:
            yield f"{escape(change.path)}: {reason}"


def shorten_refusals(refusals: Sequence[str]) -> list[str]:
    """Return the first refusals, and how many more there are."""
    rest = len(refusals) - MOST_REFUSALS
    return [*refusals[:MOST_REFUSALS], *([f"{rest} more files"] if rest > 0 else [])]


def explain_flood(changes: Sequence[Change]) -> str:
    """Return why the pull request is too large to be looked at. Empty if it is not."""
    mib = sum(change.size for change in changes) / 2**20
    if len(changes) > MOST_FILES or mib > MOST_MIB:
        return (
            f"the pull request changes {len(changes)} files with {mib:.0f} MiB; at most "
            f"{MOST_FILES} files and {MOST_MIB} MiB are looked at, so submit it in parts"
        )
    largest = max(changes, key=lambda change: change.size, default=None)
    if largest and largest.size > MOST_MIB_OF_A_FILE * 2**20:
        return (
            f"{escape(largest.path)}: has {largest.size / 2**20:.0f} MiB; a file has at most "
            f"{MOST_MIB_OF_A_FILE} MiB"
        )
    return ""


def explain_wrong_place(path: str) -> str:
    """Return why no center may change a file in this place. Empty if one may."""
    top, *parts = path.split("/")
    if top != SUBMISSIONS or not parts:
        return "is not a file of a bundle; only the person who runs the round changes it"
    if parts[0] in PROTECTED_PLACES:
        return f"only the person who runs the round changes {PROTECTED_PLACES[parts[0]]}"
    # Names that begin with a dot include `.` and `..`.
    if not path.isprintable() or "\\" in path or any(part.startswith(".") for part in parts):
        return "is hidden or has an unprintable name, and bundles have no such files"
    return ""


def explain_wrong_change(change: Change) -> str:
    """Return why a file may not be changed in this way. Empty if it may."""
    if change.status == "D":
        return "is removed; to withdraw a bundle, add a withdrawal (bench-check withdraw)"
    if change.mode in KINDS:
        return f"is {KINDS[change.mode]}; a bundle has plain files only"
    if change.status != "A":
        return (
            "is in the round and changes; withdraw the bundle (bench-check withdraw) and submit "
            "another one"
        )
    if change.mode != "100644":
        return f"has the mode {change.mode}; files of a bundle are not executable (100644)"
    return ""


def explain_wrong_bundle(
    path: PurePosixPath, pull_request: PullRequest, centers: Sequence[str]
) -> str:
    """Return why a file may not be added to its bundle. `centers` are those whose bundles the pull
    request adds. Empty if the file may be added."""
    bundle = find_bundle(path)
    if bundle in pull_request.added_bundles:
        if len(bundle.parts) < 4:
            return f"is not in a directory {SUBMISSIONS}/CENTER/SYSTEM/RUN"
        if len(centers) > 1:
            return (
                f"is of one of {len(centers)} centers ({', '.join(centers)}); a pull request has "
                "bundles of one center"
            )
        if outer := pull_request.all_bundles.intersection(bundle.parents):
            return f"is in a bundle inside of another one, {min(outer)}"
        return ""
    if bundle not in pull_request.base_bundles:
        return f"is in no bundle, because there is no {MANIFEST} beside it"
    if path.parent == bundle or not STATEMENT.fullmatch(path.name):
        return "is added to a bundle that is in the round; only signed statements are"
    if centers and centers != [bundle.parts[1]]:
        return (
            f"concerns a bundle of {bundle.parts[1]}; review it in a pull request without bundles "
            f"of {centers[0]}"
        )
    return ""


def escape(text: str) -> str:
    """`text` with escapes in place of what is not printable."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def judge(pull_request: PullRequest, out: Path) -> int:
    """Judge the merged tree, and write verdicts, page and summary to `out`. Return the exit status.
    Raises PullRequestError."""
    # `find_refusals` makes sure that keyring, LOG and waivers are those of the base branch.
    extract(f"{pull_request.tree}:{SUBMISSIONS}", out / "pull-request" / SUBMISSIONS)
    extract(f"{pull_request.base}:{SUBMISSIONS}", out / "base")
    printed = "github" if os.environ.get("GITHUB_ACTIONS") else "text"
    files = {"json": "verdict.json", "sarif": "check.sarif", "junit": "check.xml", printed: ""}
    for output_format, name in files.items():
        process = run_program(out, "bench-check", "--format", output_format, SUBMISSIONS)
        if process.returncode not in (0, 1):
            raise PullRequestError(f"bench-check: {process.stderr.strip()}")
        if name:
            (out / name).write_text(process.stdout, encoding="utf-8")
        else:
            print(process.stdout)
    passes = process.returncode == 0
    comparison = build_page(out, has_results=bool(pull_request.base_bundles)) if passes else ""
    bundles = json.loads((out / "verdict.json").read_text(encoding="utf-8"))["bundles"]
    head = run_program(out, "bench-check", "log", "head", SUBMISSIONS)
    lines = describe(bundles, {str(path) for path in pull_request.bundles})
    sections = {
        f"The pull request {'passes' if passes else 'fails'}": "\n".join(lines),
        "Compared with the results before": comparison,
        "LOG of the base branch": head.stdout or head.stderr.removeprefix("Error: "),
    }
    write_summary(out, sections)
    return process.returncode


def extract(tree: str, directory: Path) -> None:
    """Write the files of a tree of git. Raises GitError."""
    arguments = ("archive", "--format=tar", tree)
    # As a stream, so that a round of any size takes little memory.
    with subprocess.Popen(["git", *arguments], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(directory, filter="data")
        process.stdout.read()
    if process.returncode != 0:
        failed = subprocess.CompletedProcess(arguments, process.returncode, b"", b"")
        raise GitError(arguments, failed)


def run_program(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of wattmark in the merged tree, so that paths are those of the repository."""
    return subprocess.run(
        arguments, cwd=out / "pull-request", capture_output=True, text=True, check=False
    )


def build_page(out: Path, has_results: bool) -> str:
    """Build page/report.html. Return the comparison with the base branch. Raises
    PullRequestError."""
    page = str(out.resolve() / "page" / "report.html")
    (out / "page").mkdir()
    since = ["--since", "../base"] if has_results else []
    process = run_program(out, "bench-report", SUBMISSIONS, *since, "--out", page)
    if process.returncode != 0:
        raise PullRequestError(f"bench-report: {process.stderr.strip()}")
    if not has_results:
        return "The base branch has no results."
    process = run_program(out, "bench-report", "compare", "../base", SUBMISSIONS)
    return process.stdout or process.stderr


def describe(bundles: Sequence[dict], changed: set[str]) -> Iterator[str]:
    """Yield a line for each bundle of the pull request and for any other that fails. Errors and
    warnings follow it."""
    for bundle in bundles:
        if bundle["path"] not in changed and bundle["status"] != "fail":
            continue
        counts = Counter(finding["severity"] for finding in bundle["findings"])
        summary = ", ".join(
            f"{counts[name]} {name}{'s' * (counts[name] != 1)}"
            for name in ("error", "warning", "note")
        )
        origin = "" if bundle["path"] in changed else ", not of this pull request"
        signer = bundle["signer"] or "nobody"
        yield f"{bundle['status']} {bundle['path']}{origin}: signed by {signer}; {summary}"
        for finding in bundle["findings"]:
            if finding["severity"] != "note":
                place = f"{finding['file']} {finding['pointer']}".strip()
                yield (
                    f"  {finding['severity']} {finding['rule']} {place}: found "
                    f"{finding['found']}; expected {finding['expected']}. {finding['message']}"
                )


def write_summary(out: Path, sections: dict[str, str]) -> None:
    """Write summary.md. Texts of a pull request are in code blocks that they cannot end, so that
    they are no markup."""
    lines = []
    for title, text in sections.items():
        shortened = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"
        if text:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", shortened))])
            lines += [f"### {title}", "", f"{fence}text", shortened.strip("\n"), fence, ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.md").write_text("\n".join(lines), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Run the command. Return the exit status."""
    match arguments:
        case ["paths", base, head]:
            out = None
        case ["check", base, head, name]:
            out = Path(name)
            if out.exists():
                print(f"{out}: exists; name a new directory", file=sys.stderr)
                return 2
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    try:
        pull_request = read_pull_request(base, head)
        if refusals := shorten_refusals(list(find_refusals(pull_request))):
            # Not at the start of a line: GitHub would run `::…` as a command.
            print("\n".join(f"refused {refusal}" for refusal in refusals))
            if out is not None:
                write_summary(out, {"The pull request is refused": "\n".join(refusals)})
            return 1
        return 0 if out is None else judge(pull_request, out)
    except (PullRequestError, OSError, tarfile.TarError) as error:
        for line in str(error).splitlines():
            print(f"check_pull_request.py: {line}", file=sys.stderr)
        if out is not None:
            write_summary(out, {"The pull request cannot be checked": str(error)})
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
