from enum import StrEnum


class Reason(StrEnum):
    """Why a request failed. A closed set: it is a metric label."""

    BOOTSTRAP_TIMEOUT = "BootstrapTimeout"  # not every decode rank spoke up in time
    WAITING_TIMEOUT = "WaitingTimeout"  # prefill's last word did not come in time
    BOOTSTRAP_UNREACHABLE = "BootstrapUnreachable"  # the topology could not be asked for
    PEER_LOST = "PeerLost"  # the connection to a peer rank ended
    PEER_REFUSED = "PeerRefused"  # roles disagree about pages, or no mapping exists between their widths
    MALFORMED_MESSAGE = "MalformedMessage"  # truncated, oversized, or not what the protocol says
    ENGINE_ERROR = "EngineError"  # the transfer engine reported a failure
    CORRUPT_PAGE = "CorruptPage"  # bytes arrived that were not sent
    POOL_EXHAUSTED = "PoolExhausted"  # no pages became free in time


class TransferError(Exception):
    """A request failed; the reason is counted, the detail is for people."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
