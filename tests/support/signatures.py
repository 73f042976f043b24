"""Keys, signatures and a record of the calls of ssh-keygen, for the tests of signatures."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.ssh_agent import agent as agent

from checker.trust import signature
from checker.trust.keyring import read_keyring
from checker.trust.signature import verify_signature
from rules.bundle_format.files import Refused
from rules.bundle_format.records import SUBMISSION_NAMESPACE

CONTENT = b'{"format": "wattmark-manifest/1"}\n'
OTHER = "other@wattmark"
NAMESPACE = SUBMISSION_NAMESPACE


@pytest.fixture(autouse=True)
def signature_cache(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[object, ...], float]:
    """The cache of accepted signatures, empty at the start of each test. Its clock stands still."""
    monkeypatch.setattr(signature, "_accepted_until_s", {})
    set_clock(1000.0, monkeypatch)
    return signature._accepted_until_s


def set_clock(now_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature, "time", SimpleNamespace(monotonic=lambda: now_s))


@pytest.fixture
def ssh_keygen_actions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions of all calls of ssh-keygen so far."""
    actions: list[str] = []
    ssh_keygen = signature._ssh_keygen
    monkeypatch.setattr(
        signature,
        "_ssh_keygen",
        lambda action, *a, **k: actions.append(action) or ssh_keygen(action, *a, **k),
    )
    return actions


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a private key of a kind (`ed25519`, `ed25519-2`, `ecdsa`, `rsa`), once each."""
    directory = tmp_path_factory.mktemp("keys")

    def make(kind: str) -> Path:
        path = directory / kind
        if not path.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", kind.partition("-")[0], "-N", "", "-C", "", "-f", path],
                check=True,
            )
        return path

    return make


def sign_content(
    key: Path, content: bytes = CONTENT, namespace: str = NAMESPACE, *options: str
) -> bytes:
    """Sign content with ssh-keygen. Returns the signature."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, *options]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


def check_signature(
    keyring: Path, signature: bytes, content: bytes, principal: str, namespace: str, at: str
) -> str | list[str]:
    """Verify a signature. Returns the fingerprint of the key, or the rules and violations."""
    try:
        return verify_signature(
            signature, content, "made.sig", principal, namespace, read_keyring(keyring), at
        )
    except Refused as refusal:
        return [f"{p.rule} {p.violation.found}" for p in refusal.problems]
