"""What a node meter is: the interface that a file in `harness/power/nodes/` implements, and how it
is reached."""

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from harness.errors import MeterError
from rules.bundle_format.records import FeedReading

SECRET_TIMEOUT_S = 10.0


@dataclass(frozen=True, repr=False)
class MeterAccess:
    """How to reach one node meter: an entry of meters.toml.

    Neither its text nor any message of a meter may contain host or secret.
    """

    id: str
    kind: str
    """The name of the file in `harness/power/nodes/`."""
    feeds: Mapping[str, str]
    """What the meter calls each feed, such as the number of an outlet, by the name of the feed."""
    host: str = ""
    port: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """The other settings, which depend on the kind."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Where the secrets are: `password_env`, `password_file` or `password_command` and the name of
    the variable, the path or the command. A kind may use other names than `password`."""

    def __repr__(self) -> str:
        return f"MeterAccess(id={self.id!r}, kind={self.kind!r}, feeds={list(self.feeds)!r})"

    def require_host(self) -> str:
        """The host. Raises MeterError if the entry has none."""
        if not self.host:
            raise MeterError(f"meter {self.id}: its entry in meters.toml has no host; add one")
        return self.host

    def has_secret(self, name: str = "password") -> bool:
        """Whether the entry says where the secret `name` is."""
        return any(f"{name}_{place}" in self.secrets for place in ("env", "file", "command"))

    def secret(self, name: str = "password") -> str:
        """Read the secret `name` from where the entry says it is. Nothing keeps it, so a password
        that changes during a run is read anew. Raises MeterError, which names the place only."""
        if variable := self.secrets.get(f"{name}_env"):
            value = os.environ.get(variable)
            problem = f"the environment variable {variable} is not set"
        elif path := self.secrets.get(f"{name}_file"):
            value, problem = _read_file(Path(path).expanduser())
        elif command := self.secrets.get(f"{name}_command"):
            value, problem = _read_output(command)
        else:
            value = None
            problem = f"its entry in meters.toml has no {name}_env, {name}_file or {name}_command"
        if not value:
            raise MeterError(f"meter {self.id}: no {name}: {problem}")
        return value


def _read_file(path: Path) -> tuple[str | None, str]:
    try:
        return path.read_text().rstrip("\r\n"), f"{path} is empty"
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return None, f"{path} cannot be read ({reason})"


def _read_output(command: str) -> tuple[str | None, str]:
    # The output of the command is the secret. Its error output may contain addresses.
    try:
        output = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECRET_TIMEOUT_S,
            check=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        return None, f"its command ended with status {error.returncode}"
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        return None, f"its command failed ({type(error).__name__})"
    return output.rstrip("\r\n"), "its command printed nothing"


class NodeMeter(ABC):
    """A meter of whole nodes, with one or more feeds. One thread of one process uses an
    instance."""

    blocking_timeout_s: ClassVar[float] = 1.0
    """How long one request may wait for its answer."""
    needs_access: ClassVar[bool] = True
    """Whether meters.toml must have an entry. A meter in this node has no address and needs
    none."""
    simulated: ClassVar[bool] = False
    """Whether the readings are computed instead of measured."""
    warning: str = ""
    """What a user should know about the readings so far; empty if there is nothing."""

    @classmethod
    @abstractmethod
    def open(cls, access: MeterAccess) -> "NodeMeter":
        """Open the meter. Raises MeterError, which says what to do and contains neither address nor
        secret."""

    @abstractmethod
    def read(self) -> list[tuple[str, FeedReading]]:
        """Read all feeds now: the name of each feed and its reading, in the order of
        `MeterAccess.feeds`.

        Never raises: a feed that cannot be read has a status of
        `rules.bundle_format.records.METER_STATUSES`. After a failure, the next call tries again, if
        necessary with a new connection.
        """

    def count_cap_changes(self) -> int | None:
        """How often the power caps of the node changed since the meter was opened; None for a meter
        that does not tell. Never raises."""
        return None

    def close(self) -> None:  # noqa: B027  # some meters have nothing to release
        """Release what `open` acquired."""
