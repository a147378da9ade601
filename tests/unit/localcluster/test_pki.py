from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pdcluster import pki

CA = pki.authority("test-ca")


def test_an_issued_certificate_is_signed_by_its_authority() -> None:
    signed = pki.issue(CA, "someone")
    signed.certificate.verify_directly_issued_by(CA.certificate)


def test_a_user_and_group_are_what_kubernetes_reads() -> None:
    subject = pki.issue(CA, "system:node:n1", group="system:nodes").certificate.subject
    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "system:node:n1"
    assert subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:nodes"


@pytest.mark.parametrize(
    ("names", "serves"),
    [pytest.param((), False, id="a client"), pytest.param(("localhost", "127.0.0.1"), True, id="a server")],
)
def test_only_a_certificate_with_names_may_serve(names: tuple[str, ...], *, serves: bool) -> None:
    certificate = pki.issue(CA, "x", names=names).certificate
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert (ExtendedKeyUsageOID.SERVER_AUTH in usage) is serves


def test_addresses_and_host_names_are_told_apart() -> None:
    certificate = pki.issue(CA, "x", names=("localhost", "127.0.0.1")).certificate
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_key_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    CA.write(tmp_path, "ca")
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600
