"""The four kinds of failure, named by what to do about them."""


class Failure(Exception):  # noqa: N818 -- a kind of failure; each subclass is named by what to do
    """The root of every failure the operator expects."""


class Invalid(Failure):
    """The user must act: something in the spec can't be done. Retrying doesn't help until the object changes."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class Unsupported(Invalid):
    """The spec asks for something the API can express but nothing acts on yet: refused, never ignored."""


class Conflict(Failure):
    """Someone else wrote first: go again now with fresh state."""


class Transient(Failure):
    """The other side can't answer just now: back off and retry."""


class Bug(Failure):
    """Ours: the API server says our own manifest is wrong. Retrying every second doesn't help."""
