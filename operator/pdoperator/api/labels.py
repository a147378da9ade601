"""Labels and annotations that the operator's objects carry: what users may select by, said once."""

from typing import Final

DEPLOYMENT_LABEL: Final = "pdoperator.io/deployment"  # the PDDeployment's name
ROLE_LABEL: Final = "pdoperator.io/role"  # prefill, decode or router
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY: Final = "pd-operator"

MODEL_ANNOTATION: Final = "pdoperator.io/model"  # the model's name: free text, which no label can hold
BOOTSTRAP_ANNOTATION: Final = "sglang.ai/bootstrap-port"  # SGLang's router finds the bootstrap server by it
