"""Verify a plain Ed25519 signature in this process. A process of ssh-keygen takes fifty times as
long.

This module accepts one form only: byte for byte that in which `ssh-keygen -Y sign` writes a
signature by an Ed25519 key (PROTOCOL.sshsig of OpenSSH). It does not decide whose key it is, nor
whether the key counts.
"""

import base64
import struct
from hashlib import sha512

_KEY_TYPE = b"ssh-ed25519"
_MAGIC = b"SSHSIG"
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
_COLUMNS = 70
"""Width of a line of base64 in a signature file."""
_PUBLIC_KEY = slice(33, 65)
"""Bytes of the public key in the blob: they follow the magic, the version, three lengths and the
key type."""
_SIGNATURE_BYTES = 64


def parse_signature(armoured: bytes, namespace: str) -> tuple[bytes, bytes] | None:
    """The public key (as a keyring has it) and the signature in a signature file; None if the file
    has another form."""
    try:
        # Decoding is lenient here. The comparison below is strict.
        blob = base64.b64decode(armoured.removeprefix(_BEGIN).removesuffix(_END))
    except ValueError:
        return None
    key, signature = _string(_KEY_TYPE) + _string(blob[_PUBLIC_KEY]), blob[-_SIGNATURE_BYTES:]
    # Write the file again from the two values and compare: so no byte of it is left unchecked.
    return (key, signature) if _format_file(key, signature, namespace) == armoured else None


def is_valid(key: bytes, signature: bytes, content: bytes, namespace: str) -> bool:
    """Whether `signature` is the signature of `content` in `namespace` by `key`, both as
    `parse_signature` returns them.

    Also False if this machine cannot compute Ed25519; the caller then asks ssh-keygen.
    """
    # A lazy import: it takes longer than everything else that is imported for --help.
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
        # The key is preceded by its type. An Ed25519 public key has 32 bytes.
        Ed25519PublicKey.from_public_bytes(key[-32:]).verify(signature, signed)
    # In FIPS mode a machine may have no Ed25519.
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def _format_file(key: bytes, signature: bytes, namespace: str) -> bytes:
    blob = b"".join(
        (
            _MAGIC,
            struct.pack(">I", 1),
            _string(key),
            _string(namespace.encode()),
            _string(b""),
            _string(b"sha512"),
            _string(_string(_KEY_TYPE) + _string(signature)),
        )
    )
    text = base64.b64encode(blob)
    lines = (text[at : at + _COLUMNS] + b"\n" for at in range(0, len(text), _COLUMNS))
    return b"".join((_BEGIN, *lines, _END))


def _string(value: bytes) -> bytes:
    """A value after its length in bytes, as SSH writes strings."""
    return struct.pack(">I", len(value)) + value
