"""Find the digest of the container image that this process runs in.

Apptainer names the image file in APPTAINER_CONTAINER, Singularity in SINGULARITY_CONTAINER. The
digest is the SHA-256 of this file. Podman writes the id of the image into /run/.containerenv, but
only for privileged containers. Nothing in a Docker container names its image. Where no digest can
be found, the site hands it over in WATTMARK_CONTAINER.

Sources: Apptainer user guide, Environment and Metadata; podman-run(1), --privileged.
"""

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.console import Console

from rules.bundle_format.records import Json

CONTAINER_VARIABLE = "WATTMARK_CONTAINER"
IMAGE_VARIABLES = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
CACHE_FILE = "image-digests.json"
ROOT = Path("/")
"""Where the marker files of containers are."""


@dataclass(frozen=True)
class ContainerImage:
    """What is known of the image of the container that this process runs in."""

    runtime: str | None = None
    """`Apptainer`, `Podman` or `Docker`. None outside of these."""
    digest: str | None = None
    """`sha256:` and 64 hexadecimal digits, as found from inside. None if it cannot be found."""
    handed_over: str | None = None
    """The value of WATTMARK_CONTAINER."""
    obstacle: str = ""
    """Why there is no digest. Empty if there is one, and outside of containers."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the digest that was found is another one than WATTMARK_CONTAINER names."""
        if self.digest is None or self.handed_over is None:
            return False
        return not self.handed_over.endswith(self.digest)

    @property
    def declared(self) -> str | None:
        """The text for `container` of environment.json. It ends with the digest that was found, or
        else is the value that was handed over. None if there is neither."""
        if self.is_contradicted:
            return f"{CONTAINER_VARIABLE} {self.handed_over}, found {self.digest}"
        return self.handed_over or self.digest


def find_container_image(variables: Mapping[str, str]) -> ContainerImage:
    """Return the image of this process, from its environment variables and the files below
    `ROOT`. An image file is hashed if its path, size or time of change is new."""
    handed_over = variables.get(CONTAINER_VARIABLE) or None
    # Jobs inherit the variables of Apptainer if they are submitted from inside an image. Only a
    # process that is in an image has this directory.
    image_path = next((variables[name] for name in IMAGE_VARIABLES if variables.get(name)), None)
    if image_path is not None and (ROOT / ".singularity.d").is_dir():
        digest, obstacle = _examine_image_file(Path(image_path), variables)
        return ContainerImage("Apptainer", digest, handed_over, obstacle)
    if (container_file := ROOT / "run" / ".containerenv").exists():
        digest, obstacle = _read_podman_image_id(container_file)
        return ContainerImage("Podman", digest, handed_over, obstacle)
    if (ROOT / ".dockerenv").exists():
        obstacle = "nothing inside a Docker container names its image"
        return ContainerImage("Docker", None, handed_over, obstacle)
    return ContainerImage(handed_over=handed_over)


def _examine_image_file(path: Path, variables: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the digest of the image file, or None and the reason why there is none."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return None, f"{path} is a sandbox directory, which has no digest"
        if not stat.S_ISREG(status.st_mode):
            return None, f"{path} is not a regular file"
        cache_file = _locate_cache(variables)
        sha256 = _hash_image(path, status.st_size, status.st_mtime_ns, cache_file)
        return f"sha256:{sha256}", ""
    except (FileNotFoundError, NotADirectoryError):
        return None, f"the image file {path} is not visible inside the container"
    except OSError as error:
        return None, f"the image file {path} cannot be read ({error.strerror})"


def _read_podman_image_id(path: Path) -> tuple[str | None, str]:
    """Return the digest of the image that .containerenv names, or None and the reason why there is
    none."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        return None, f"{path} cannot be read ({error.strerror})"
    match = re.search(r'^imageid="?([0-9a-f]{64})"?$', text, re.MULTILINE | re.ASCII)
    if match is None:
        return None, f"{path} names no image, because the container is not privileged"
    return f"sha256:{match[1]}", ""


@cache
def _hash_image(path: Path, size_bytes: int, mtime_ns: int, cache_file: Path) -> str:
    """Return the SHA-256 of an image file in hexadecimal digits. The cache file has the hashes of
    earlier runs, which hold for the same path, size and time of change. Raises OSError."""
    digests = _read_cache(cache_file)
    match digests.get(str(path)):
        case [size, changed, str(sha256)] if [size, changed] == [size_bytes, mtime_ns]:
            return sha256
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    size = f"{size_bytes / 1e9:.1f} GB"
    console.print(f"hashing the container image {path}, {size}; later runs use the recorded hash")
    start_s = time.monotonic()
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    console.print(f"hashed {size} in {time.monotonic() - start_s:.1f} s: sha256:{sha256}")
    # A run does not depend on the cache: the next one hashes again.
    with suppress(OSError):
        _write_cache(cache_file, {**digests, str(path): [size_bytes, mtime_ns, sha256]})
    return sha256


def _locate_cache(variables: Mapping[str, str]) -> Path:
    """The file below the user's cache directory, which Apptainer mounts with the home directory."""
    directory = variables.get("XDG_CACHE_HOME") or Path(variables.get("HOME") or "/") / ".cache"
    return Path(directory) / "wattmark" / CACHE_FILE


def _read_cache(path: Path) -> Json:
    """Return the cache. An unreadable one is empty."""
    try:
        digests = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}


def _write_cache(path: Path, digests: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Other runs may read or write at the same time.
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(digests, indent=1))
    temporary.replace(path)
