"""pd-operator: a Kubernetes operator that knows what a KV transfer metric should say."""

__version__ = "0.1.0"
