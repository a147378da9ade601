"""The certificates of a small Kubernetes: who signs whom, as values; files only in `write`."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A cluster made here lives for hours; a year leaves room for one that somebody keeps.
VALIDITY = timedelta(days=365)
# Machines' clocks differ by a little, and a certificate from the future is refused.
CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> bytes:
        """The private key as PEM."""
        return key_pem(self.key)

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def write(self, directory: Path, name: str) -> None:
        """Write NAME.key (for the owner alone) and NAME.crt."""
        write_private(directory / f"{name}.key", self.key_pem)
        (directory / f"{name}.crt").write_bytes(self.certificate_pem)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the PEM that Kubernetes components read a key from."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half, as the API server wants it to check service account tokens."""
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a P-256 key: made in microseconds, where RSA takes a large part of a second."""
    return ec.generate_private_key(ec.SECP256R1())


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, and never lets it be readable in between."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


def authority(common_name: str) -> KeyPair:
    """Make a certificate authority."""
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return KeyPair(key, builder.add_extension(usage, critical=True).sign(key, hashes.SHA256()))


def issue(signer: KeyPair, common_name: str, *, group: str = "", names: tuple[str, ...] = ()) -> KeyPair:
    """Sign a certificate for a client in GROUP, or for a server known by NAMES (host names or addresses)."""
    key = new_key()
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if group:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    builder = _builder(x509.Name(attributes), signer.certificate.subject, key)
    # A server's certificate is a client's too: etcd dials itself with its own.
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if names else [])]
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False)
    return KeyPair(key, builder.sign(signer.key, hashes.SHA256()))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC).replace(tzinfo=None)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALIDITY)
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
