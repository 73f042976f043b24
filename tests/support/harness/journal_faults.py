"""What can become of the journal of a run while the run lives: lost, damaged or altered."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path


def truncate(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes()[:100])


def empty(journal: Path) -> None:
    journal.write_bytes(b"")


def fill_with_zeros(journal: Path) -> None:
    journal.write_bytes(bytes(4096))


def remove(journal: Path) -> None:
    journal.unlink()


def remove_directory(journal: Path) -> None:
    shutil.rmtree(journal.parent)


def replace_directory_with_file(journal: Path) -> None:
    shutil.rmtree(journal.parent)
    journal.parent.write_text("")


def rename(journal: Path) -> None:
    journal.rename(journal.with_name("moved.json"))


def replace_with_link(journal: Path) -> None:
    """A link that leads nowhere."""
    journal.rename(journal.with_name("moved.json"))
    journal.symlink_to("elsewhere.json")


def change(field: str, value: object) -> Callable[[Path], None]:
    """A disturbance that gives a field of the journal another value."""

    def alter(journal: Path) -> None:
        journal.write_text(json.dumps(json.loads(journal.read_text()) | {field: value}))

    alter.__name__ = f"change_{field}"
    return alter


def change_limits(journal: Path, **fields: object) -> None:
    document = json.loads(journal.read_text())
    for limit in document["accelerators"]:
        limit.update(fields)
    journal.write_text(json.dumps(document))


def lower_limits(journal: Path) -> None:
    change_limits(journal, found_mw=300_000)


def forget_limits(journal: Path) -> None:
    change_limits(journal, found_mw=None)


def spoil_limits(journal: Path) -> None:
    """The limits are no numbers."""
    change_limits(journal, found_mw="700 W")


def name_another_board(journal: Path) -> None:
    """The first board is gone from the journal, and an unknown one is in it."""
    document = json.loads(journal.read_text())
    document["accelerators"][0]["uuid"] = "GPU-cccc0000-0000-0000-0000-000000000000"
    journal.write_text(json.dumps(document))


def leave_out_a_board(journal: Path) -> None:
    document = json.loads(journal.read_text())
    document["accelerators"] = document["accelerators"][1:]
    journal.write_text(json.dumps(document))


LOSSES = (remove, remove_directory, replace_directory_with_file, rename)
DAMAGES = (
    *(truncate, empty, fill_with_zeros, replace_with_link, spoil_limits),
    *(change("pid", "1"), change("format", "wattmark-caps/2")),
)
ALTERATIONS = (
    *(lower_limits, forget_limits, name_another_board, leave_out_a_board),
    *(change("run_id", "another"), change("pid", 1), change("meter", "amd")),
    *(change("host", "another"), change("boot_id", None)),
    change("started_at", "2001-01-01T00:00:00Z"),
)
