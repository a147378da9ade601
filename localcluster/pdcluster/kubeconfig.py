"""Kubeconfig files, with everything inside them."""

import base64
import json

from pdcluster.pki import KeyPair


def render(*, server: str, authority: bytes, client: KeyPair, name: str) -> str:
    """Return a kubeconfig (JSON, which is YAML) for one client of one API server."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": name, "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate-data": _base64(client.certificate_pem),
                        "client-key-data": _base64(client.key_pem),
                    },
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        indent=1,
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
