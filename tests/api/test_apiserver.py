from tests.support.apiserver import Apiserver


def test_api_server_reports_the_pinned_version(apiserver: Apiserver) -> None:
    assert '"gitVersion": "v1.34.4"' in apiserver.kubectl("get", "--raw", "/version").stdout


def test_rbac_is_on_for_a_service_account_without_rights(apiserver: Apiserver) -> None:
    as_default = ("--as=system:serviceaccount:default:default",)
    assert apiserver.kubectl("auth", "can-i", "list", "pods", *as_default, check=False).stdout.strip() == "no"


def test_garbage_collector_deletes_what_its_owner_left(apiserver: Apiserver) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": "default"}}
    apiserver.apply(owner)
    uid = apiserver.get("configmap", "owner")["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    apiserver.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "owned", "namespace": "default", "ownerReferences": [reference]},
        }
    )
    apiserver.kubectl("delete", "configmap", "owner")
    apiserver.kubectl("wait", "--for=delete", "configmap/owned", "--timeout=30s")
