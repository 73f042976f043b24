"""Power of a feed from a power analyser over VXI-11, by pyvisa-py.

An entry in meters.toml has host, and port only if the instrument has no portmapper.
harness/power/nodes/_scpi.py describes its other keys.
"""

import logging
import time
from contextlib import suppress
from typing import Any

from checker.extras import advise_extra
from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.nodes._scpi import ScpiMeter, Transport

DEVICE = "inst0"


class Vxi11Meter(ScpiMeter):
    """Reads one instrument over VXI-11."""

    def _open_transport(self) -> Transport:
        return Vxi11Transport(
            self._access.require_host(), self._access.port, self.blocking_timeout_s
        )


class Vxi11Transport:
    """A link of VXI-11 to the instrument `inst0` of a host."""

    def __init__(self, host: str, port: int | None, timeout_s: float) -> None:
        pyvisa = _import_pyvisa()
        self._manager = pyvisa.ResourceManager("@py")
        address = host if port is None else f"{host},{port}"
        start_s = time.monotonic()
        try:
            self._link = self._manager.open_resource(
                f"TCPIP::{address}::{DEVICE}::INSTR",
                open_timeout=int(1000 * timeout_s),
                timeout=int(1000 * timeout_s),
                write_termination="\n",
            )
        except Exception:  # pyvisa-py raises errors of several bases, and the bare Exception
            self._manager.close()
            # It gives the same error for a closed port and for a host that does not answer.
            waited = time.monotonic() - start_s >= 0.9 * timeout_s
            error = TimeoutError() if waited else ConnectionRefusedError()
            raise FeedError.from_network(error) from None

    def write(self, message: str) -> None:
        self._call(self._link.write, message)

    def read(self) -> str:
        content: bytes = self._call(self._link.read_raw)
        return content.decode("ascii").strip()

    def close(self) -> None:
        with suppress(Exception):  # the connection may be lost
            self._manager.close()

    @staticmethod
    def _call(method: Any, *arguments: str) -> Any:
        from pyvisa.constants import StatusCode
        from pyvisa.errors import VisaIOError

        try:
            return method(*arguments)
        except VisaIOError as error:
            if error.error_code == StatusCode.error_timeout:
                raise TimeoutError from None
            raise ConnectionResetError from None
        except (OSError, ValueError):
            raise
        except Exception:  # errors of RPC, which have several bases
            raise ConnectionResetError from None


def _import_pyvisa() -> Any:
    try:
        import pyvisa
        import pyvisa_py  # noqa: F401  # the backend of "@py"
    except ImportError:
        raise MeterError(
            f"a meter of the kind vxi11 needs pyvisa-py; {advise_extra('meters')}"
        ) from None
    # Its messages contain addresses.
    logging.getLogger("pyvisa").setLevel(logging.CRITICAL + 1)
    return pyvisa
