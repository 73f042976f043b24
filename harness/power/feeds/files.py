"""Reads numbers from files of the kernel, for meters that are directories."""

from pathlib import Path

from harness.power.feeds.feed import FeedError


def read_text(path: Path) -> str:
    """The text of a file without surrounding space. Raises FeedError if it cannot be read."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        raise FeedError("absent", f"there is no {path.name}") from None
    except PermissionError:
        raise FeedError(
            "refused", f"{path.name} may not be read; ask an administrator for the right to"
        ) from None
    except OSError as error:
        # The kernel gives ENODATA, EIO or ETIMEDOUT if the sensor does not answer.
        raise FeedError("timeout", f"{path.name} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FeedError("malformed", f"{path.name} is no text") from None


def parse_count(text: str, name: str) -> int:
    """A whole number that is not negative. Raises FeedError for any other text."""
    if not (text.isascii() and text.isdecimal()):
        raise FeedError("malformed", f"{name} has {text[:40]!r}, which is no whole number")
    return int(text)
