"""What a cluster needs inside: cluster DNS, and the right of the API server to use the kubelet's API."""

from typing import Any

COREDNS_IMAGE = "localhost/coredns:1.12.4"

# Every answer comes from memory, so there is nothing to cache; there is no name server outside to forward to.
COREFILE = """.:53 {
    errors
    health :8080
    ready :8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 5
    }
}
"""

_META = {"namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}}


def build(dns_address: str) -> list[dict[str, Any]]:
    """Return every object, in the order to apply them."""
    account = {"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}
    reads = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    apiserver = {"kind": "User", "name": "kube-apiserver-kubelet-client", "apiGroup": "rbac.authorization.k8s.io"}
    return [
        _binding("pdcluster:kubelet-api", role="system:kubelet-api-admin", subject=apiserver),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**_META, "name": "coredns"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "system:coredns"},
            "rules": reads,
        },
        _binding("system:coredns", role="system:coredns", subject=account),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**_META, "name": "coredns"},
            "data": {"Corefile": COREFILE},
        },
        _deployment(),
        _service(dns_address),
    ]


def _binding(name: str, *, role: str, subject: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


def _service(dns_address: str) -> dict[str, Any]:
    ports = [{"name": f"dns-{p.lower()}", "port": 53, "protocol": p} for p in ("UDP", "TCP")]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**_META, "name": "kube-dns"},
        "spec": {"selector": {"k8s-app": "kube-dns"}, "clusterIP": dns_address, "ports": ports},
    }


def _deployment() -> dict[str, Any]:
    container = {
        "name": "coredns",
        "image": COREDNS_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [{"containerPort": 53, "protocol": p, "name": f"dns-{p.lower()}"} for p in ("UDP", "TCP")],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "initialDelaySeconds": 30},
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
    }
    pod = {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**_META, "name": "coredns"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
            "template": {"metadata": {"labels": {"k8s-app": "kube-dns"}}, "spec": pod},
        },
    }
