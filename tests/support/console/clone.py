"""A copy of the project in which tests run commands."""

import shutil
import subprocess
import sys
from pathlib import Path

from support.console.blocks import ROOT


def make_clone(folder: Path) -> Path:
    """A clone of the project with the changes of its working tree, and with its environment."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "clone", "-q", "--shared", ROOT, folder], check=True)
    changes = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"]
    listing = subprocess.run([*git, *changes], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listing.decode().split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).unlink()
    subprocess.run([*git, "add", "--all"], cwd=folder, check=True)
    commit = [*git, "commit", "-q", "--allow-empty", "-m", "Changes of the working tree"]
    subprocess.run(commit, cwd=folder, check=True)
    # With the file `ready`, make does not set up the environment again.
    environment = folder / ".venv"
    environment.mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name not in ("ready", "site-ready"):
            (environment / path.name).symlink_to(path)
    for name in ("ready", "site-ready"):
        (environment / name).touch()
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write("/.venv\n")
    return folder
