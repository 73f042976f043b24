"""Mutations that the rule `container-missing` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.container_missing import RULE
from rules.testing.case import mutation


@mutation(RULE)
def outside_of_a_container(evidence: Evidence) -> None:
    evidence.environment["container"] = None


@mutation(RULE)
def name_of_an_image_alone(evidence: Evidence) -> None:
    evidence.environment["container"] = "wattmark-vision-cuda:latest"
