"""The one place where HTTP answers of the API server become the four kinds of failure."""

import json

from pdoperator.api.errors import Bug, Conflict, Failure, Invalid, Transient

MAX_MESSAGE = 500  # characters: an answer can quote the whole object back, a condition message must stay readable

# These say "not now" although they aren't 5xx: the token is being rotated, RBAC or a quota is being changed, the
# namespace is going away, a CRD isn't served yet. None of them ends by changing the PDDeployment.
_NOT_NOW = frozenset({401, 403, 404, 408, 410, 429})


def failure_of(*, status: int, body: str, what: str) -> Failure:
    """What an error answer means. `what` names the request, e.g. `apply StatefulSet ns/name`."""
    message, causes = _read(body)
    text = f"{what}: {message or f'HTTP {status}'}"[:MAX_MESSAGE]
    if status == 422:  # noqa: PLR2004 -- the table of HTTP statuses is this function
        # The name belongs to another object than the one whose UID was sent: it was recreated meanwhile.
        if "metadata.uid" in causes:
            return Conflict(text)
        return Invalid(causes[0] if causes else "spec", text)
    if status == 409:  # noqa: PLR2004
        return Conflict(text)
    # Server-side apply answers 500 for a field the schema doesn't have: permanent, in the clothes of a transient one.
    if status == 500 and "declared in schema" in message:  # noqa: PLR2004
        return Bug(text)
    if status >= 500 or status in _NOT_NOW:  # noqa: PLR2004
        return Transient(text)
    return Bug(text)


def _read(body: str) -> tuple[str, list[str]]:
    """The message and the field paths of a Status object; other text is its own message."""
    try:
        status = json.loads(body)
    except ValueError:
        return body.strip(), []
    if not isinstance(status, dict):
        return body.strip(), []
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    fields = [str(cause["field"]) for cause in causes or [] if isinstance(cause, dict) and cause.get("field")]
    return str(status.get("message") or ""), fields
