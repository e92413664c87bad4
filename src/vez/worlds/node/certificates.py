"""Certificates: an authority for one group, and for each node a certificate that names the node and the group."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vez.errors import CannotWrite, MissingPart, Misuse, how_to_install
from vez.worlds.node.sockets import certificate_name

_SKEW = timedelta(hours=1)
"""Time by which certificates are valid earlier than now, because the clocks of hosts differ."""


def make_certificates(folder: Path, group: str, ids: tuple[int, ...], days: int) -> list[Path]:
    """Write `ca.pem` and `ca.key`, unless they exist, and `node-ID.pem` and `node-ID.key` for each node."""
    try:
        from cryptography import x509
    except ImportError as error:
        raise MissingPart("making certificates needs the package cryptography", hint=how_to_install("certs")) from error
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    for node in ids:
        if (path := folder / f"node-{node}.pem").exists():
            raise CannotWrite(f"cannot write {path}: it is there already", hint="files are never replaced")
    authority, authority_key, written = _authority(folder, group, days)
    for node in ids:
        name = certificate_name(node, group)
        key = ec.generate_private_key(ec.SECP256R1())
        usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            _builder(name, authority.subject, key.public_key(), days)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            )
        )
        written += _write(folder / f"node-{node}", certificate, key, authority_key)
    return written


def _authority(folder: Path, group: str, days: int) -> tuple[Any, Any, list[Path]]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    name = f"authority of {group}.vez"
    paths = folder / "ca.pem", folder / "ca.key"
    if all(path.exists() for path in paths):
        try:
            found = x509.load_pem_x509_certificate(paths[0].read_bytes())
            key = load_pem_private_key(paths[1].read_bytes(), None)
        except (OSError, ValueError) as error:
            raise Misuse(f"cannot use the authority in {folder}: {error}", hint="use another folder") from error
        if found.subject != _name(name):
            raise Misuse(f"the authority in {folder} is of another group", hint="use another folder")
        return found, key, []
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        _builder(name, _name(name), key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    written = _write(folder / "ca", builder, key, key)
    return x509.load_pem_x509_certificate(written[0].read_bytes()), key, written


def _name(text: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(name: str, issuer: Any, public_key: Any, days: int) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _write(stem: Path, builder: Any, key: Any, signer: Any) -> list[Path]:
    """Write a certificate and its key. Files that exist are not replaced."""
    from cryptography.hazmat.primitives import hashes, serialization

    certificate = builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths = [stem.with_name(f"{stem.name}.pem"), stem.with_name(f"{stem.name}.key")]
    for path, content, mode in zip(paths, (certificate, secret), (0o644, 0o600), strict=True):
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror}", hint="files are never replaced") from error
    return paths
