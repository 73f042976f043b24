"""Mutations that the rule `not-handed-in` must find."""

from pathlib import Path

from rules.bundle_format.records import SIGNATURE_DIR
from rules.checks.integrity.not_handed_in import RULE
from rules.testing import tampering as forge
from rules.testing.case import tampering


def remove_requests(directory: Path) -> None:
    for path in (directory / SIGNATURE_DIR).glob("request.*"):
        path.unlink()


@tampering(RULE)
def hand_in_what_the_center_discarded(directory: Path) -> None:
    remove_requests(directory)


@tampering(RULE)
def hand_in_as_somebody_else(directory: Path) -> None:
    remove_requests(directory)
    forge.add_request(directory, "stranger@elsewhere.example")


@tampering(RULE)
def take_over_from_another_round(directory: Path) -> None:
    (forge.get_submissions(directory) / "round.toml").write_text('title = "Another round"\n')


@tampering(RULE)
def alter_the_day(directory: Path) -> None:
    (request,) = (directory / SIGNATURE_DIR).glob("request.*.json")
    request.write_text(request.read_text().replace('"requested_on": "2', '"requested_on": "21', 1))
