"""PDUs over SNMP v2c or v3, by gufo-snmp.

Keys of meters.toml: `model` (a table of `snmp_pdus.toml`), and for v2c `community_env`,
`community_file` or `community_command`. For v3 `user`, `auth` (`sha1`, `sha256` or `sha512`),
`privacy` (`aes128` or `aes256`) and the secrets `password` and `privacy_password`. Without
`privacy_password`, the same password serves both.
"""

import re
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from checker.extras import advise_extra
from harness.errors import MeterError
from harness.power.feeds.counter import CounterUnwrapper
from harness.power.feeds.feed import FeedError, LoginPause
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

if TYPE_CHECKING:
    from gufo.snmp import User
    from gufo.snmp.sync import SnmpSession

PORT = 161
OBJECTS_PER_REQUEST = 24
"""So many objects fit into one UDP packet."""
SESSION_S = 100.0
"""A v3 session that was idle for longer is opened again: the time of the agent is only known for
150 s."""
UNITS = {
    "W": 1e3,
    "Wh": 3.6e6,
    "0.1 kWh": 3.6e8,
    "V": 1e3,
    "A": 1e3,
    "1": 1e6,
    "s": 1e9,
}
"""What one count is in the unit of the field of `FeedReading`: mW, mJ, mV, mA, millionths, ns."""
FIELDS = {
    "power": "power_mw",
    "energy": "energy_mj",
    "voltage": "voltage_mv",
    "current": "current_ma",
    "power_factor": "pf_ppm",
    "stamp": "meter_ns",
}
ADVICE = "check host, port, the community or the user, and the passwords"


@dataclass(frozen=True)
class Quantity:
    """An object of one feed."""

    field: str
    """Of `FeedReading`."""
    oid: str
    scale: float
    """Units of the field per count."""
    absent: tuple[int, ...]
    """Counts that mean that there is no value."""
    unwrapper: CounterUnwrapper | None


class SnmpMeter(FramedMeter):
    """Reads outlets of a PDU."""

    blocking_timeout_s = 1.0
    option_names = frozenset({"model", "user", "auth", "privacy"})
    # A PDU rounds its power to watts, so a steady node can repeat it. Only the stamp tells.
    stale_fields = ("meter_ns",)

    def __init__(self, access: MeterAccess, pdu: Mapping[str, Any]) -> None:
        super().__init__(access)
        self._pdu = pdu
        self._session: SnmpSession | None = None
        self._used_s = 0.0
        self._pause = LoginPause()
        self._quantities: dict[str, tuple[Quantity, ...]] = {}

    @classmethod
    def make(cls, access: MeterAccess) -> Self:
        try:
            import gufo.snmp  # noqa: F401  # a missing library is reported before a request
        except ImportError:
            raise MeterError(
                f"meter {access.id}: gufo-snmp is not installed; {advise_extra('meters')}"
            ) from None
        access.require_host()
        return cls(access, _find_pdu(access))

    def prepare(self) -> None:
        self._quantities = self._find_quantities()

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        counts = self._get(quantity.oid for feed in self._quantities.values() for quantity in feed)
        return [
            (feed, _make_reading(feed, quantities, counts))
            for feed, quantities in self._quantities.items()
        ]

    def _get(self, oids: Iterable[str]) -> dict[str, Any]:
        """The values of these objects. gufo-snmp leaves out those that the agent does not have.
        Raises FeedError."""
        values: dict[str, Any] = {}
        oids = list(oids)
        try:
            session = self._open_session()
            for start in range(0, len(oids), OBJECTS_PER_REQUEST):
                values |= session.get_many(oids[start : start + OBJECTS_PER_REQUEST])
        except FeedError:
            raise
        except Exception as error:  # gufo-snmp, or the system below it
            # The next reading begins anew: an agent that was restarted has another time.
            self._session = None
            raise self._describe(error) from None
        return values

    def _open_session(self) -> "SnmpSession":
        from gufo.snmp.sync import SnmpSession

        now_s = time.monotonic()
        if self._session is None or now_s - self._used_s > SESSION_S:
            self._pause.require_end(now_s)
            access = self._access
            arguments: dict[str, Any] = {"timeout": self.blocking_timeout_s}
            if user := _make_user(access):
                arguments["user"] = user
            else:
                arguments["community"] = access.secret("community")
            self._session = SnmpSession(access.host, access.port or PORT, **arguments)
            # Of v3: learns the identity and the time of the agent.
            self._session.refresh()
        self._used_s = now_s
        return self._session

    def _describe(self, error: Exception) -> FeedError:
        from gufo.snmp import SnmpAuthError, SnmpError

        match error:
            case MeterError():
                return FeedError("refused", str(error).removeprefix(f"meter {self._access.id}: "))
            case SnmpAuthError():
                self._pause.begin(time.monotonic())
                return FeedError("refused", "it refuses the login; check user and passwords")
            # gufo-snmp lets BlockingIOError of a timeout in `refresh` pass.
            case TimeoutError() | BlockingIOError():
                # An agent does not answer a wrong community or privacy password either.
                return FeedError("timeout", f"it does not answer; {ADVICE}")
            case SnmpError():
                return FeedError("malformed", f"its answer cannot be read; {ADVICE}")
        return FeedError.from_network(error)

    def _find_quantities(self) -> dict[str, tuple[Quantity, ...]]:
        """The objects of each feed, with the decimal digits that the PDU states. Raises FeedError
        if it does not answer."""
        objects = {
            (feed, name): entry
            for feed in self._access.feeds
            for name, entry in self._pdu.items()
            if name in FIELDS
        }
        digits_oids = {
            key: entry["digits"].format(feed=self._access.feeds[key[0]])
            for key, entry in objects.items()
            if "digits" in entry
        }
        # One object more, so that a PDU without digits is asked too.
        probe = objects[next(iter(objects))]["oid"].format(
            feed=next(iter(self._access.feeds.values()))
        )
        digits = self._get([*digits_oids.values(), probe])
        unwrappers = {
            name: CounterUnwrapper(entry["bits"])
            for (_, name), entry in objects.items()
            if "bits" in entry
        }
        quantities: dict[str, list[Quantity]] = {feed: [] for feed in self._access.feeds}
        for (feed, name), entry in objects.items():
            decimals = digits.get(digits_oids.get((feed, name), ""), 0)
            quantities[feed].append(
                Quantity(
                    FIELDS[name],
                    entry["oid"].format(feed=self._access.feeds[feed]),
                    UNITS[entry["unit"]] / 10 ** int(decimals),
                    tuple(entry.get("absent", ())),
                    unwrappers.get(name),
                )
            )
        return {feed: tuple(of_feed) for feed, of_feed in quantities.items()}


@cache
def read_pdus() -> dict[str, Any]:
    """The tables of `snmp_pdus.toml`."""
    return tomllib.loads(files("harness.power.nodes").joinpath("snmp_pdus.toml").read_text())


def _find_pdu(access: MeterAccess) -> dict[str, Any]:
    pdus, model = read_pdus(), access.options.get("model", "")
    if model not in pdus:
        raise MeterError(
            f"meter {access.id}: model = {model!r} is not one of {', '.join(pdus)}; correct it in "
            "meters.toml"
        )
    pdu: dict[str, Any] = pdus[model]
    for feed, index in access.feeds.items():
        if not re.fullmatch(r"\d+(\.\d+)*", index):
            raise MeterError(f"meter {access.id}, feed {feed}: {index!r} is no {pdu['feed']}")
    return pdu


def _make_user(access: MeterAccess) -> "User | None":
    """The user of v3, None for v2c. Raises MeterError."""
    from gufo import snmp

    name = access.options.get("user")
    if name is None:
        return None
    hashes = {"sha1": snmp.Sha1Key, "sha256": snmp.Sha256Key, "sha512": snmp.Sha512Key}
    ciphers = {"aes128": snmp.Aes128Key, "aes256": snmp.Aes256Key}
    auth, privacy = access.options.get("auth", "sha256"), access.options.get("privacy", "aes128")
    for key, value, known in (("auth", auth, hashes), ("privacy", privacy, ciphers)):
        if value not in known:
            raise MeterError(
                f"meter {access.id}: {key} = {value!r} is not one of {', '.join(known)}"
            )
    password = access.secret().encode()
    is_separate = access.has_secret("privacy_password")
    privacy_password = access.secret("privacy_password").encode() if is_separate else password
    return snmp.User(
        name, auth_key=hashes[auth](password), priv_key=ciphers[privacy](privacy_password)
    )


def _make_reading(
    feed: str, quantities: Iterable[Quantity], counts: Mapping[str, Any]
) -> FeedReading:
    values: dict[str, Any] = {}
    for quantity in quantities:
        count = counts.get(quantity.oid)
        if count is None or count in quantity.absent:
            continue
        if not isinstance(count, int | float):
            return FeedReading(status="malformed")
        if quantity.unwrapper:
            count = quantity.unwrapper.unwrap(feed, int(count))
        values[quantity.field] = round(count * quantity.scale)
    if "power_mw" not in values:
        return FeedReading(status="absent")
    return FeedReading(**values)
