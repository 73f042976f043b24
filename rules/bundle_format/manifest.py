"""Reads MANIFEST.json of any version, and names in it the place that a bundle is signed for."""

from dataclasses import asdict, dataclass

from rules.bundle_format.documents import read_document
from rules.bundle_format.records import (
    MANIFEST_FILE,
    MANIFEST_FORMAT,
    MANIFEST_FORMAT_WITHOUT_PLACE,
    Json,
)
from rules.bundle_format.seal import encode_json


@dataclass(frozen=True)
class SignedPlace:
    """Where a bundle lies below `submissions/`, without the directory of the run itself."""

    center: str
    system: str
    """The directories between center and run, with `/` between them; empty if there are none."""

    def __str__(self) -> str:
        return f"{self.center}/{self.system}".rstrip("/")


def read_manifest(raw: bytes) -> Json:
    """Read a manifest of any version from its bytes. Raises Refused."""
    return read_document(MANIFEST_FILE, raw, MANIFEST_FORMAT, MANIFEST_FORMAT_WITHOUT_PLACE)


def read_place(manifest: Json) -> SignedPlace | None:
    """The place that a manifest is signed for. None if it names none: it is of version 1, or not
    yet signed."""
    if "center" not in manifest or "system" not in manifest:
        return None
    return SignedPlace(manifest["center"], manifest["system"])


def name_place(manifest: Json, place: SignedPlace) -> bytes:
    """Return the manifest as version 2, with the place that it is to be signed for."""
    return encode_json({**manifest, "format": MANIFEST_FORMAT, **asdict(place)})
