"""Hosts and ports as they stand in URLs."""


def url(host: str, port: int, path: str = "") -> str:
    """An http URL; an IPv6 address is put in brackets."""
    bracketed = f"[{host}]" if ":" in host else host
    return f"http://{bracketed}:{port}{path}"


def bound_to(pod_ip: str) -> str | None:
    """Where a pod listens: on every interface (None), so that probes and `kubectl exec` find it.

    A loopback pod IP means that several pods share one host, in a test: then on that address alone.
    """
    return pod_ip if pod_ip.startswith("127.") else None
