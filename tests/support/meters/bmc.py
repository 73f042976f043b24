"""A BMC that answers the DCMI command "Get Power Reading", on pyghmi's IPMI server.

Run as a program, it listens on 127.0.0.1 and does what its state file says; `Bmc` runs it.
"""

import json
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.meters import truth
from support.meters.ports import find_free_port

USER = "reader"
GET_POWER_READING = (0x2C, 0x02)


class Bmc:
    """The server as a process. `set` changes its answers."""

    def __init__(self, directory: Path, password: str = "of the BMC") -> None:
        self.password = password
        self.port = find_free_port(udp=True)
        self._state_file = directory / "bmc.json"
        self.state: dict[str, Any] = {
            "power_w": 350,
            "stamp_s": 1_795_348_800,
            "active": True,
            "code": 0,
            "delay_s": 0.0,
            "body": None,
        }
        self.set()
        self.start()

    def set(self, **state: Any) -> None:
        """Change the power (None: `truth.power_w`), the stamp (None: now), whether it measures, the
        completion code, the delay of answers, or the bytes of the answer in hexadecimal."""
        self.state |= state
        temporary = self._state_file.with_suffix(".new")
        temporary.write_text(json.dumps(self.state))
        temporary.rename(self._state_file)

    def start(self) -> None:
        """Listen on the same port as before."""
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self.port), self.password, str(self._state_file)],
            env={"PYTHONPATH": ":".join(sys.path)},
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def serve(port: int, password: str, state_file: Path) -> None:
    from pyghmi.ipmi import bmc
    from pyghmi.ipmi.private.serversession import ServerSession

    # A request that is repeated on a busy machine may arrive behind its session. pyghmi then calls
    # this method, which it does not have, and ends.
    ServerSession.sessionless_data = lambda *_: None

    class Server(bmc.Bmc):
        def handle_raw_request(self, request: dict[str, Any], session: Any) -> None:
            if (request["netfn"], request["command"]) != GET_POWER_READING:
                return super().handle_raw_request(request, session)
            state = json.loads(state_file.read_text())
            time.sleep(state["delay_s"])
            body = make_body(state, bytes(request["data"]))
            return session.send_ipmi_response(data=list(body), code=state["code"])

    server = Server({USER: password}, port=port, address="127.0.0.1")
    print("listening", flush=True)
    server.listen(timeout=1)


def make_body(state: dict[str, Any], request: bytes) -> bytes:
    assert request == bytes([0xDC, 1, 0, 0]), "not a request for system power statistics"
    if state["code"]:
        return b""
    if state["body"] is not None:
        return bytes.fromhex(state["body"])
    power_w = truth.power_w(time.monotonic()) if state["power_w"] is None else state["power_w"]
    stamp_s = int(time.time()) if state["stamp_s"] is None else state["stamp_s"]
    numbers = struct.pack("<HHHHII", round(power_w), 100, 500, 340, stamp_s, 1000)
    return bytes([0xDC]) + numbers + bytes([0x40 if state["active"] else 0])


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
