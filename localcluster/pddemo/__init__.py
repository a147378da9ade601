"""The demo: from nothing to a verified PDDeployment on a real Kubernetes, shown with its real output."""
