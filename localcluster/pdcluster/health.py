"""Ask a component over HTTPS or HTTP whether it is well."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A healthy component on this machine answers in milliseconds; a busy one may need a second or two.
REQUEST_TIMEOUT_S = 5.0
# Short, so that a start is not held up; the question costs the component next to nothing.
POLL_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Api:
    """A client for a few GETs of the API server, without the cost of starting kubectl."""

    address: str
    port: int
    context: ssl.SSLContext

    @classmethod
    def from_kubeconfig(cls, path: Path) -> "Api":
        """Read one of our own kubeconfig files (everything inline, one context)."""
        config = json.loads(path.read_text())
        server = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(server["certificate-authority-data"]).decode())
        # ssl reads a client certificate from a file only; the file is ours alone and gone at once.
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]))
            pem.write(base64.b64decode(user["client-key-data"]))
            pem.flush()
            context.load_cert_chain(pem.name)
        host, port = server["server"].removeprefix("https://").split(":")
        return cls(host, int(port), context)

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of one GET; status 0 when nothing answered."""
        return _get(
            http.client.HTTPSConnection(self.address, self.port, timeout=REQUEST_TIMEOUT_S, context=self.context), path
        )

    def read(self, path: str) -> dict[str, Any] | None:
        """Return an object, or None when the API server did not give one."""
        status, body = self.get(path)
        return json.loads(body) if status == http.HTTPStatus.OK else None

    def ready(self) -> bool:
        """Tell whether the API server says that it is ready."""
        return self.get("/readyz")[0] == http.HTTPStatus.OK


def answers(address: str, port: int, path: str, *, secure: bool) -> bool:
    """Tell whether GET PATH answers 200; the certificate of a health port is self-signed and carries no secret."""
    if not secure:
        return _get(http.client.HTTPConnection(address, port, timeout=REQUEST_TIMEOUT_S), path)[0] == http.HTTPStatus.OK
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, port, timeout=REQUEST_TIMEOUT_S, context=context)
    return _get(connection, path)[0] == http.HTTPStatus.OK


def wait_until(condition: Callable[[], bool], *, seconds: float, alive: Callable[[], bool] = lambda: True) -> bool:
    """Poll CONDITION for at most SECONDS; give up at once when whoever has to fulfil it is no longer ALIVE."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline or not alive():
            return False
        time.sleep(POLL_INTERVAL_S)
    return True


def _get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
