"""Check that the center of a bundle hands it in.

A signed run that a center discards would otherwise count when anybody else hands it in.
"""

import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from checker.trust.acceptance_log import parse_version
from checker.trust.keyring import belongs_to
from checker.trust.manifest import MainDocument
from checker.trust.records import Records, utc_now
from rules.bundle_format.files import Refused, build_refusal, read_plain
from rules.bundle_format.records import REQUEST_FORMAT, SIGNATURE_DIR, Json
from rules.finding import Problem
from rules.rule_ids import NOT_HANDED_IN

ROUND_FILE = "round.toml"
_MAX_ROUND_BYTES = 2**20
_SINCE = (1, 12, 0)
"""The first rule book whose bundles need a request."""


def read_round_title(submissions: Path) -> str:
    """The title of the round in `submissions`, as its round.toml states it; empty if it states
    none."""
    try:
        content = read_plain(submissions / ROUND_FILE, ROUND_FILE, _MAX_ROUND_BYTES)
        title = tomllib.loads(content.decode()).get("title", "")
    # Whoever exports the round learns what is wrong with the file.
    except (Refused, ValueError):
        return ""
    return title if isinstance(title, str) else ""


def build_request(manifest: bytes, principal: str, submissions: Path) -> Json:
    """The request of `principal` for the bundle with these bytes of the manifest, to the round in
    `submissions`."""
    return {
        "format": REQUEST_FORMAT,
        "manifest_sha256": sha256(manifest).hexdigest(),
        "round": read_round_title(submissions),
        "requested_by": principal,
        "requested_on": utc_now()[:10],
    }


def check_requests(
    records: Records, center: str, title: str, document: MainDocument
) -> Iterator[Problem]:
    """Report a bundle that no good request of its `center` hands in to the round with this title.
    Bundles of rule books before 1.12.0 need none."""
    try:
        if parse_version(str(document.content["rules_version"])) < _SINCE:
            return
    except (LookupError, ValueError):
        return  # The rules on form refuse such a document.
    requests = records.requests
    own_requests = [request for request in requests if belongs_to(request.requested_by, center)]
    if any(request.round == title for request in own_requests):
        return
    if own_requests:
        found = f"handed in to the round “{own_requests[0].round}”"
    elif requests:
        found = f"handed in by {requests[0].requested_by}, {requests[0].requested_on}"
    elif records.request_refused:
        found = f"a request that does not count: {records.request_refused}"
    else:
        found = "handed in without a request"
    name = f"the round “{title}”" if title else "the round"
    yield from build_refusal(
        NOT_HANDED_IN,
        SIGNATURE_DIR,
        "",
        found,
        f"a request of {center} to {name}",
        "The center makes one with bench-check request. Until then the bundle wins no comparison.",
    ).problems
