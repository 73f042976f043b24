"""Verifies a plain Ed25519 signature in this process, in a fiftieth of the time that a process of
ssh-keygen takes.

It knows one form alone: byte for byte that in which `ssh-keygen -Y sign` writes a signature by such
a key (PROTOCOL.sshsig of OpenSSH). Whose key it is, and whether it counts, is not asked here.
"""

import base64
import struct
from hashlib import sha512

_KIND = b"ssh-ed25519"
_MAGIC = b"SSHSIG"
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
_COLUMNS = 70
"""Width of a line of the armour."""
_PUBLIC = slice(33, 65)
"""Where the public key stands in the blob: behind the magic, the version, three lengths and the
kind of key."""
_SIGNATURE_BYTES = 64


def key_and_signature(armoured: bytes, namespace: str) -> tuple[bytes, bytes] | None:
    """The public key (as a keyring has it) and the signature in a signature file; None where the
    file has another form."""
    try:
        blob = base64.b64decode(armoured.removeprefix(_BEGIN).removesuffix(_END))
    except ValueError:
        return None
    key, signature = _string(_KIND) + _string(blob[_PUBLIC]), blob[-_SIGNATURE_BYTES:]
    # Made anew from these two, the file must come out the same: nothing in it is passed over.
    return (key, signature) if _file_of(key, signature, namespace) == armoured else None


def is_good(key: bytes, signature: bytes, content: bytes, namespace: str) -> bool:
    """Whether `signature` is that of `content` in `namespace` by the key, both as
    `key_and_signature` gives them.

    False also where this machine cannot tell.
    """
    # Loaded where it is needed alone: it takes longer than all else that is imported for --help.
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = (
        _MAGIC
        + _string(namespace.encode())
        + _string(b"")
        + _string(b"sha512")
        + _string(sha512(content).digest())
    )
    try:
        Ed25519PublicKey.from_public_bytes(key[-32:]).verify(signature, signed)
    except (
        InvalidSignature,
        UnsupportedAlgorithm,
        ValueError,
    ):  # a machine in FIPS mode may have no Ed25519
        return False
    return True


def _file_of(key: bytes, signature: bytes, namespace: str) -> bytes:
    by = _string(_string(_KIND) + _string(signature))
    blob = b"".join(
        (
            _MAGIC,
            struct.pack(">I", 1),
            _string(key),
            _string(namespace.encode()),
            _string(b""),
            _string(b"sha512"),
            by,
        )
    )
    text = base64.b64encode(blob)
    lines = (text[at : at + _COLUMNS] + b"\n" for at in range(0, len(text), _COLUMNS))
    return b"".join((_BEGIN, *lines, _END))


def _string(value: bytes) -> bytes:
    """A value behind its length, as SSH writes it."""
    return struct.pack(">I", len(value)) + value
