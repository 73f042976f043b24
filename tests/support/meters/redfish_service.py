"""A Redfish service over TLS with sessions, as a BMC has one, that tests start and disturb."""

import datetime
import ipaddress
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER = "reader"
SESSIONS = "/redfish/v1/SessionService/Sessions"
CHASSIS = "/redfish/v1/Chassis/1U"
ENVIRONMENT = f"{CHASSIS}/EnvironmentMetrics"
POWER = f"{CHASSIS}/Power"
FIRST_CONTROL = f"{POWER}#/PowerControl/0"
SENSOR = f"{CHASSIS}/Sensors/Input"
OUTLET = "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A1"


class RedfishService:
    """Power of a chassis at `https://127.0.0.1:port`. Attributes can be changed at any time."""

    def __init__(self, directory: Path, power_w: Callable[[], float] = lambda: 374.0) -> None:
        self.power_w = power_w
        self.password = secrets.token_hex(8)
        self.sessions: set[str] = set()
        self.logins: list[str] = []
        """The answer to each login: `created` or `refused`."""
        self.requests: list[str] = []
        self.connections: list[socket.socket] = []
        self.full: tuple[int, bytes] | None = None
        """Status and body of the answer to a login while all sessions are taken."""
        self.delay_s = 0.0
        self.answers: dict[str, bytes] = {}
        """Bodies that replace those of the resources at these paths."""
        self.systems = 1
        self.ca_file = directory / "ca.pem"
        self._key_file = directory / "service.pem"
        _write_certificates(self.ca_file, self._key_file)
        self.port = 0
        self.start()

    @property
    def certificate_sha256(self) -> str:
        certificate = x509.load_pem_x509_certificate(self._key_file.read_bytes())
        return certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    def start(self) -> None:
        """Listen on the same port as before."""
        service = self

        class Handler(_Handler):
            redfish = service

        self._server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._key_file)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening, and forget the sessions, as a controller does that restarts."""
        self._server.shutdown()
        self._server.server_close()
        self.close_connections()
        self.sessions.clear()

    def close_connections(self) -> None:
        """Close all connections, as a service does with idle ones."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()

    def resource(self, path: str) -> dict[str, Any] | None:
        power_w = self.power_w()
        return {
            CHASSIS: {
                "Links": {"ComputerSystems": [{"@odata.id": f"{n}"} for n in range(self.systems)]}
            },
            ENVIRONMENT: {
                "PowerWatts": {"Reading": power_w, "PowerFactor": 0.98},
                "EnergykWh": {"Reading": 12.5},
            },
            POWER: {
                "PowerControl": [
                    {"MemberId": "0", "PowerConsumedWatts": power_w - 30},
                    {"MemberId": "1", "PowerConsumedWatts": 100},
                ]
            },
            OUTLET: {
                "PowerWatts": {"Reading": power_w},
                "Voltage": {"Reading": 230.5},
                "CurrentAmps": {"Reading": 1.625},
            },
            SENSOR: {
                "Reading": power_w,
                "ReadingUnits": "W",
                "ReadingRangeMax": 3000,
                "ReadingTime": "2026-11-22T12:00:00.250+00:00",
            },
        }.get(path)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing for a client that refuses the certificate."""


class _Handler(BaseHTTPRequestHandler):
    redfish: RedfishService
    protocol_version = "HTTP/1.1"
    timeout = 10
    # Header and body are two packets: without this, the second waits 40 ms for the client.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.redfish.connections.append(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._note()
        if self.path != SESSIONS or content != {
            "UserName": USER,
            "Password": self.redfish.password,
        }:
            self.redfish.logins.append("refused")
            self._answer(401, b"{}")
            return
        if self.redfish.full:
            self.redfish.logins.append("refused")
            self._answer(*self.redfish.full)
            return
        token = secrets.token_hex(8)
        self.redfish.sessions.add(token)
        self.redfish.logins.append("created")
        self._answer(201, b"{}", {"X-Auth-Token": token, "Location": f"{SESSIONS}/{token}"})

    def do_GET(self) -> None:
        self._note()
        time.sleep(self.redfish.delay_s)
        if self.headers.get("X-Auth-Token") not in self.redfish.sessions:
            self._answer(401, b"{}")
            return
        content = self.redfish.resource(self.path)
        body = self.redfish.answers.get(self.path)
        if content is None and body is None:
            self._answer(404, b"{}")
            return
        self._answer(200, json.dumps(content).encode() if body is None else body)

    def do_DELETE(self) -> None:
        self._note()
        self.redfish.sessions.discard(self.path.rpartition("/")[2])
        self._answer(204, b"")

    def _note(self) -> None:
        self.redfish.requests.append(f"{self.command} {self.path}")

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        with suppress(OSError):  # the client may have given up
            self.end_headers()
            self.wfile.write(body)


def _write_certificates(ca_file: Path, key_file: Path) -> None:
    """An authority in `ca_file`, and in `key_file` the key and certificate of 127.0.0.1."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    today = datetime.datetime.now(datetime.UTC)

    def build(
        subject: x509.Name, public_key: ec.EllipticCurvePublicKey, *extensions: Any
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority_name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(today - datetime.timedelta(days=1))
            .not_valid_after(today + datetime.timedelta(days=1))
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
                critical=False,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority_key, hashes.SHA256())

    authority = build(
        authority_name,
        authority_key.public_key(),
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            True,
        ),
    )
    certificate = build(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bmc")]),
        key.public_key(),
        (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False),
    )
    pem = serialization.Encoding.PEM
    ca_file.write_bytes(authority.public_bytes(pem))
    key_file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
