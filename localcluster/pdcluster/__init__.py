"""A real Kubernetes on one machine, in a network namespace and a mount namespace of its own."""
