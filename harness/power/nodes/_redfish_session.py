"""A session with a Redfish service (DMTF DSP0266) over TLS."""

import hashlib
import json
import ssl
import time
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError, LoginPause
from harness.power.node_meter import MeterAccess

SESSIONS = "/redfish/v1/SessionService/Sessions"
LARGEST_ANSWER = 4 << 20
"""Bytes. The largest resources of real services have some 100 kB."""


class _Connection(HTTPSConnection):
    """A TLS connection that is used only if the certificate of the service is the pinned one."""

    def __init__(
        self, host: str, port: int, timeout_s: float, context: ssl.SSLContext, pin: str | None
    ) -> None:
        super().__init__(host, port, timeout=timeout_s, context=context)
        self._pin = pin

    def connect(self) -> None:
        super().connect()
        if self._pin is None:
            return
        certificate = self.sock.getpeercert(binary_form=True) or b""
        if hashlib.sha256(certificate).hexdigest() != self._pin:
            self.close()
            raise ssl.SSLCertVerificationError("the certificate is not the pinned one")


class RedfishSession:
    """Logs in when necessary, and reads resources as JSON."""

    def __init__(self, access: MeterAccess, timeout_s: float) -> None:
        """Raises MeterError if user or certificate are missing. Opens no connection."""
        self._access = access
        self._user = access.options.get("user", "")
        if not self._user:
            raise MeterError(f"meter {access.id}: its entry in meters.toml has no user; add one")
        context, pin = _make_tls_context(access)
        self._connection = _Connection(
            access.require_host(), access.port or 443, timeout_s, context, pin
        )
        self._token = ""
        self._session = ""
        self._pause = LoginPause()

    def get(self, path: str) -> Any:
        """Read the resource at `path`. Raises FeedError."""
        try:
            if not self._token:
                self._log_in()
            status, body = self._get_once(path)
            if status == 401:  # the session has expired
                self._log_in()
                status, body = self._get_once(path)
            _require_success(status)
            return json.loads(body, parse_constant=_refuse_constant)
        except (OSError, HTTPException, ValueError) as error:
            self._connection.close()
            raise FeedError.from_network(error) from None

    def close(self) -> None:
        """Delete the session, because a service has few of them."""
        if self._session:
            with suppress(OSError, HTTPException, FeedError):
                self._request("DELETE", self._session)
        self._token = self._session = ""
        self._connection.close()

    def _get_once(self, path: str) -> tuple[int, bytes]:
        try:
            response, body = self._request("GET", path)
        except (RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The service has closed an idle connection. The next request opens a new one.
            self._connection.close()
            response, body = self._request("GET", path)
        return response.status, body

    def _log_in(self) -> None:
        self._pause.require_end(time.monotonic())
        self._token = self._session = ""
        try:
            password = self._access.secret()
        except MeterError as error:
            raise FeedError.from_secret(error) from None
        credentials = json.dumps({"UserName": self._user, "Password": password})
        response, body = self._request("POST", SESSIONS, credentials)
        if response.status == 503 or b"SessionLimit" in body:
            self._pause.begin(time.monotonic())
            raise FeedError("refused", "it has no free session; close other sessions")
        if response.status in (400, 401, 403):
            self._pause.begin(time.monotonic())
            raise FeedError("refused", "it refuses the login; check user and password")
        _require_success(response.status)
        self._token = response.getheader("X-Auth-Token") or ""
        # A location with another host must not send the token there.
        self._session = urlsplit(response.getheader("Location") or "").path
        if not self._token:
            raise FeedError("malformed", "its answer to the login has no X-Auth-Token")

    def _request(
        self, method: str, path: str, content: str | None = None
    ) -> tuple[HTTPResponse, bytes]:
        headers = {"Accept": "application/json", "OData-Version": "4.0"}
        if self._token:
            headers["X-Auth-Token"] = self._token
        if content is not None:
            headers["Content-Type"] = "application/json"
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        body = response.read(LARGEST_ANSWER + 1)
        if len(body) > LARGEST_ANSWER:
            raise ValueError("the answer is too large")
        return response, body


def _make_tls_context(access: MeterAccess) -> tuple[ssl.SSLContext, str | None]:
    """The TLS context, and the SHA-256 of the pinned certificate if there is one."""
    pin = access.options.get("pin_sha256")
    authority = (
        Path(access.options["ca_file"]).expanduser() if "ca_file" in access.options else None
    )
    if pin is None:
        try:
            return ssl.create_default_context(cafile=authority), None
        except (OSError, ssl.SSLError):
            raise MeterError(
                f"meter {access.id}: ca_file cannot be read as certificates; give the path of a "
                "PEM file"
            ) from None
    digest = pin.replace(":", "").lower()
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise MeterError(
            f"meter {access.id}: pin_sha256 is no SHA-256; openssl x509 -fingerprint -sha256 "
            "prints that of a certificate"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The pin identifies the service. The names and dates of such certificates are often wrong.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context, digest


def _require_success(status: int) -> None:
    if status in (404, 410):
        raise FeedError("absent", "it has no such resource")
    if status in (401, 403):
        raise FeedError("refused", "the user may not read this resource; give it the role ReadOnly")
    if not 200 <= status < 300:
        raise FeedError("refused", f"it answers with HTTP status {status}")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
