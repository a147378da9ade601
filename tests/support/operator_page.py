"""What the operator's own metrics page says."""

from prometheus_client.parser import text_string_to_metric_families


def api_writes(page: str) -> dict[str, float]:
    """The API writes so far by verb and kind; the Lease, which is renewed at rest too, is left out."""
    return {
        f"{sample.labels['verb']} {sample.labels['resource']}": sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "pd_operator_api_writes_total" and sample.labels["resource"] != "leases"
    }
