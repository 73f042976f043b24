"""A PDU: net-snmp's snmpd with a program that answers for the objects of a vendor (pass_persist).

The program reads the values from a JSON file, {OID: [type, value]}. A reading asks for each object
once, so the values stay until one is asked for again: those of a reading are of one instant.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.meters.ports import find_free_port

needs_snmpd = pytest.mark.skipif(
    not (shutil.which("snmpd") or Path("/usr/sbin/snmpd").exists()),
    reason="snmpd is missing: apt-get install snmpd",
)
COMMUNITY = "c0mmunity-of-the-test"
USER, PASSWORD = "reader", "auth-secret-of-the-test"
PRIVACY_PASSWORD = "privacy-secret-of-the-test"

_PROGRAM = """
import json, sys
path = sys.argv[1]
values, asked = {}, set()
while line := sys.stdin.readline():
    command = line.strip()
    if command == "PING":
        print("PONG", flush=True)
        continue
    oid = sys.stdin.readline().strip().lstrip(".")
    if oid in asked:
        values, asked = json.load(open(path)), set()
    asked.add(oid)
    kind_and_value = None
    if command == "get":
        kind_and_value = values.get(oid) or json.load(open(path)).get(oid)
    if kind_and_value is None:
        print("NONE", flush=True)
    else:
        print("." + oid, *kind_and_value, sep="\\n", flush=True)
"""


class Pdu:
    """A running PDU whose values the test sets."""

    def __init__(
        self, directory: Path, values: dict[str, tuple[str, object]], host: str = "127.0.0.1"
    ) -> None:
        self._directory, self._host = directory, host
        self.port = find_free_port(udp=True)
        self._values_file = directory / "values.json"
        (directory / "agent.py").write_text(_PROGRAM)
        (directory / "persistent").mkdir()
        self.set(values)
        self.start()

    def set(self, values: dict[str, tuple[str, object]]) -> None:
        """Replace all values: net-snmp's type and the value, by OID."""
        draft = self._values_file.with_suffix(".new")
        draft.write_text(json.dumps(values))
        draft.rename(self._values_file)

    def start(self) -> None:
        """Start the agent, and wait until it answers."""
        program = f"{sys.executable} {self._directory / 'agent.py'} {self._values_file}"
        config = self._directory / "snmpd.conf"
        config.write_text(
            f"agentaddress udp:{self._host}:{self.port}\n"
            f"rocommunity {COMMUNITY} default\n"
            f"createUser {USER} SHA-256 {PASSWORD} AES {PRIVACY_PASSWORD}\n"
            f"rouser {USER} priv\n"
            f"pass_persist .1.3.6.1.4.1 {program}\n"
        )
        self._process = subprocess.Popen(
            [
                *(shutil.which("snmpd") or "/usr/sbin/snmpd", "-f", "-C", "-c", str(config)),
                *("-Lf", str(self._directory / "snmpd.log"), "-I", "-systemstats,-hrSWRunTable"),
            ],
            env={"SNMP_PERSISTENT_DIR": str(self._directory / "persistent"), "PATH": "/usr/bin"},
        )
        from gufo.snmp.sync import SnmpSession

        end_s = time.monotonic() + 60
        while time.monotonic() < end_s:
            try:
                session = SnmpSession(self._host, self.port, community=COMMUNITY, timeout=0.1)
                # Asks the program too, which the agent starts at the first request for its objects.
                session.get_many(["1.3.6.1.4.1.1"])
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self._directory / "snmpd.log").read_text())

    def stop(self) -> None:
        """Kill the agent."""
        self._process.kill()
        self._process.wait()
