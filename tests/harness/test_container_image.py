"""The digest of the container image, with stand-ins for the files and variables of Apptainer,
Podman and Docker."""

import hashlib
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import copy_evidence

from harness import container_image
from harness.checks import check_container
from harness.cli import main
from harness.container_image import ContainerImage, find_container_image
from harness.system import describe_environment
from rules.bundle import Bundle
from rules.checks.system.container_missing import RULE
from rules.testing.frames import EvidenceFrames

CONTENT = b"an image"
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
OTHER_DIGEST = f"sha256:{'0123456789abcdef' * 4}"
PODMAN = f"""engine="podman-4.9.3"
name="laughing_noether"
id="{"1" * 64}"
image="docker.io/library/wattmark:latest"
imageid="{DIGEST.removeprefix("sha256:")}"
rootless=1
graphRootMounted=1
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in place of `/`, without marker files, and no variable of a container."""
    directory = tmp_path / "root"
    (directory / "run").mkdir(parents=True)
    monkeypatch.setattr(container_image, "ROOT", directory)
    for variable in (container_image.CONTAINER_VARIABLE, *container_image.IMAGE_VARIABLES):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    container_image._hash_image.cache_clear()
    return directory


@pytest.fixture
def image(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image file, in which this process seems to run."""
    path = tmp_path / "wattmark vision.sif"
    path.write_bytes(CONTENT)
    (root / ".singularity.d").mkdir()
    monkeypatch.setenv("APPTAINER_CONTAINER", str(path))
    return path


def find() -> ContainerImage:
    return find_container_image(os.environ)


def report_missing_container(container: str | None) -> list[object]:
    """What M112 reports of a closed run with this container."""
    evidence: EvidenceFrames = copy_evidence()
    evidence.environment["container"] = container
    return list(RULE.judge(Bundle(Path("bundle"), (), evidence.evidence())))


def test_apptainer_gives_the_hash_of_its_image_file_and_m112_is_silent(image):
    assert find() == ContainerImage("Apptainer", DIGEST)
    container = describe_environment(None, "0" * 64, os.environ)["container"]
    assert container == DIGEST
    assert report_missing_container(container) == []
    assert len(report_missing_container(None)) == 1


def test_singularity_names_its_image_in_a_variable_of_its_own(image, monkeypatch):
    monkeypatch.delenv("APPTAINER_CONTAINER")
    monkeypatch.setenv("SINGULARITY_CONTAINER", str(image))
    assert find() == ContainerImage("Apptainer", DIGEST)


def test_the_variable_of_an_image_counts_only_inside_of_an_image(image, root):
    """`sbatch` from inside an image hands its variables to a job that runs outside."""
    (root / ".singularity.d").rmdir()
    assert find() == ContainerImage()
    assert check_container().ok and check_container().result == "none"


def test_an_image_is_hashed_once_until_its_size_or_time_changes(image, capsys, monkeypatch):
    find()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"hashing the container image {image}, 0.0 GB")
    assert lines[1].startswith("hashed 0.0 GB in ") and lines[1].endswith(DIGEST)
    # The later runs are other processes: they have the cache file alone.
    container_image._hash_image.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", None)
        assert find().digest == DIGEST
    assert capsys.readouterr().err == ""
    image.write_bytes(CONTENT[::-1])
    os.utime(image, ns=(0, 0))
    assert find().digest == f"sha256:{hashlib.sha256(CONTENT[::-1]).hexdigest()}"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"PATH": 3}', b'{"PATH": [8, 0, 3]}', b"\xff", None]
)
def test_a_cache_that_cannot_be_used_is_replaced_or_left_alone(image, tmp_path, content):
    cache_file = tmp_path / "cache" / "wattmark" / container_image.CACHE_FILE
    if content is None:
        cache_file.parent.parent.write_text("a file in place of the directory")
    else:
        cache_file.parent.mkdir(parents=True)
        cache_file.write_bytes(content.replace(b"PATH", str(image).encode()))
    assert find().digest == DIGEST
    assert content is None or DIGEST.removeprefix("sha256:") in cache_file.read_text()


@pytest.mark.parametrize(
    ("make", "obstacle"),
    [
        (lambda path: None, "is not visible inside the container"),
        (lambda path: path.mkdir(), "is a sandbox directory, which has no digest"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.symlink_to(path), "cannot be read (Too many levels of symbolic links)"),
    ],
)
def test_an_image_without_a_file_to_hash_is_named(image, make, obstacle):
    image.unlink()
    make(image)
    container = find()
    assert container.declared is None
    assert str(image) in container.obstacle and obstacle in container.obstacle
    assert str(check_container()) == (
        f"-   container: the bundle will not name the image of this Apptainer container: "
        f"{container.obstacle}; start the container with WATTMARK_CONTAINER=sha256:DIGEST "
        "(containers/README.md)"
    )


def test_podman_names_the_image_of_a_privileged_container(root):
    (root / "run" / ".containerenv").write_text(PODMAN)
    assert find() == ContainerImage("Podman", DIGEST)
    assert report_missing_container(find().declared) == []


@pytest.mark.parametrize("content", ["", 'engine="podman-4.9.3"\nimageid="12"\n'])
def test_podman_names_no_image_otherwise(root, content):
    (root / "run" / ".containerenv").write_text(content)
    container = find()
    assert (container.runtime, container.declared) == ("Podman", None)
    assert "names no image" in container.obstacle


def test_docker_takes_what_the_site_hands_over(root, monkeypatch):
    (root / ".dockerenv").touch()
    assert find().declared is None
    assert "nothing inside a Docker container names its image" in str(check_container())
    monkeypatch.setenv("WATTMARK_CONTAINER", OTHER_DIGEST)
    assert find().declared == OTHER_DIGEST and not find().is_contradicted
    assert str(check_container()) == f"ok  container: Docker {OTHER_DIGEST}"


def test_a_digest_that_the_image_does_not_have_is_said_and_recorded(image, monkeypatch):
    monkeypatch.setenv("WATTMARK_CONTAINER", OTHER_DIGEST)
    assert find().declared == f"WATTMARK_CONTAINER {OTHER_DIGEST}, found {DIGEST}"
    assert report_missing_container(find().declared) == []
    assert str(check_container()) == (
        f"-   container: WATTMARK_CONTAINER is {OTHER_DIGEST}, and the Apptainer image here is "
        f"{DIGEST}; the bundle records both; unset WATTMARK_CONTAINER, or set it to the digest of "
        "this image"
    )
    monkeypatch.setenv("WATTMARK_CONTAINER", f"wattmark-vision.sif@{DIGEST}")
    assert find().declared == f"wattmark-vision.sif@{DIGEST}" and check_container().ok


def test_text_without_a_digest_is_recorded_and_doctor_says_so(root, monkeypatch):
    monkeypatch.setenv("WATTMARK_CONTAINER", "wattmark:latest")
    assert find().declared == "wattmark:latest"
    output = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    assert "- container: WATTMARK_CONTAINER is wattmark:latest, which names no digest" in output
    monkeypatch.setenv("WATTMARK_CONTAINER", f"wattmark@{DIGEST}")
    output = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    assert f"ok container: image wattmark@{DIGEST}" in output


def test_doctor_shows_the_image(image):
    output = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    assert f"ok container: Apptainer {DIGEST}" in output
    image.unlink()
    output = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    assert "the bundle will not name the image of this Apptainer container" in output
