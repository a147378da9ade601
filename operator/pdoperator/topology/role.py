from enum import StrEnum


class Role(StrEnum):
    """What a pod does. The router moves no KV."""

    PREFILL = "prefill"
    DECODE = "decode"
    ROUTER = "router"


WORKER_ROLES = (Role.PREFILL, Role.DECODE)
