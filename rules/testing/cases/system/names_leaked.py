"""Mutations that the rule `names-leaked` must find."""

from rules.bundle_format.events import WorkersEnded
from rules.checks.system.names_leaked import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def home_directory_in_the_log(evidence: EvidenceFrames) -> None:
    evidence.log += '  File "/home/jdoe/wattmark/harness/worker.py", line 5, in <module>\n'


@mutation(RULE)
def mail_address_in_the_system(evidence: EvidenceFrames) -> None:
    evidence.system["site"] = "Example Center, j.doe@example.org"


@mutation(RULE)
def host_in_the_environment(evidence: EvidenceFrames) -> None:
    evidence.environment["variables"]["NCCL_SOCKET_IFNAME"] = "login03.hpc.example.edu"


@mutation(RULE)
def user_at_a_node_in_the_log(evidence: EvidenceFrames) -> None:
    evidence.log += "jdoe@node0142:/work$ bench-submit run\n"


@mutation(RULE, "P122", rederive=False)
def user_at_a_host_in_the_events(evidence: EvidenceFrames) -> None:
    event = WorkersEnded(node="jdoe@node0142:/work", attempt=1, time_ns=0, status=0)
    evidence.events = (event,)
