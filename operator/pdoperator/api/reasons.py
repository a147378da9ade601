"""Every reason a condition may carry. The reference page and the runbooks are held to this file."""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why. Each member carries what it means and the next step, for somebody woken up by it."""

    meaning: str
    next_step: str

    def __new__(cls, value: str, meaning: str, next_step: str = "") -> Self:
        """A string that knows what it means and what to do."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        member.next_step = next_step or "None."
        return member

    # The summary.
    ALL_READY = "AllReady", "The spec is valid, a pair is routable, and the transport is the one asked for."
    AS_EXPECTED = "AsExpected", "Nothing asked for is known not to hold."

    # The spec.
    VALID = "Valid", "The sizes go together and the replica factor follows from them."
    TOPOLOGY_INVALID = (
        "TopologyInvalid",
        (
            "The spec can't run: the message names the field and both values. Nothing was applied; running pods go on "
            "as they were."
        ),
        "Change the field that the message names. The next reconcile follows within seconds, by itself.",
    )
    UNSUPPORTED_FIELD = (
        "UnsupportedField",
        (
            "The spec asks for something that this version of the operator doesn't act on yet. Nothing was applied; "
            "running pods go on as they were."
        ),
        "Remove the field that the message names, or install a version that supports it.",
    )

    # Applying.
    UP_TO_DATE = "UpToDate", "Every workload runs what the spec says and all its pods are ready."
    STARTING = (
        "Starting",
        "Pods of the current revision exist but aren't all ready, or objects are still being created.",
        "Wait. If it lasts longer than the model takes to load, read the log of the pod that isn't ready.",
    )
    ROLLING_OUT = (
        "RollingOut",
        "Pods are being replaced by pods of a newer revision.",
        "Wait. If it stands still, look at the newest pods' conditions and logs.",
    )
    APPLY_RETRYING = (
        "ApplyRetrying",
        "The API server couldn't take a change just now; the operator tries again with a growing delay.",
        "Look at the API server if it lasts; the operator's log has each attempt.",
    )
    APPLY_FAILED = (
        "ApplyFailed",
        "The API server refused an object the operator made. Retrying doesn't help until something changes.",
        (
            "Read the message: an admission policy, a quota or an immutable field names itself there. If it says a "
            "field isn't declared in the schema, the cluster is older than the operator supports: report it."
        ),
    )

    # Pods.
    PAIR_ROUTABLE = "PairRoutable", "A router, a prefill and a decode pod are ready."
    NO_ROUTER = (
        "NoRouter",
        "No router pod is ready, so nothing takes requests.",
        "Read the router pod's events and log.",
    )
    NO_PREFILL = (
        "NoPrefill",
        "No prefill pod is ready: its ranks haven't all registered, or it has no pods.",
        "Read the message of the pod's readiness probe (`kubectl describe pod`): it says which rank is missing.",
    )
    NO_DECODE = (
        "NoDecode",
        "No decode pod is ready.",
        "Read the message of the pod's readiness probe (`kubectl describe pod`).",
    )
    SCALED_TO_ZERO = (
        "ScaledToZero",
        "A role was asked to have no replicas, so no pair exists. Not a fault.",
        "Raise the role's replicas when it should serve.",
    )
    IMAGE_PULL_FAILED = (
        "ImagePullFailed",
        (
            "The node can't get an image; the message names role, image and the kubelet's words. Clears itself once "
            "the image can be pulled."
        ),
        (
            "Correct the image's name or tag in spec.engine.image, or its pull secret, or the registry. No pod needs "
            "to be deleted by hand."
        ),
    )
    CONTAINER_NOT_STARTED = (
        "ContainerNotStarted",
        "The image is there but the container can't be created or started; the message has the kubelet's words.",
        "A ConfigMap, Secret, command or device that the pod names is usually missing: the message says which.",
    )
    CRASH_LOOPING = (
        "CrashLooping",
        "A container starts and exits again and again; the message names the pod and its last exit.",
        "`kubectl logs POD --previous`. Exit code 137 is usually memory, or a liveness probe that gave up.",
    )
    PODS_UNSCHEDULABLE = (
        "PodsUnschedulable",
        "The scheduler finds no node for a pod; the message has its words.",
        "Free or add what the scheduler misses (GPUs, memory, a node label), or ask for less.",
    )

    # Reading the workers.
    NOT_OBSERVED = (
        "NotObserved",
        "No worker's metrics were read yet since the pods, or the operator, started.",
        "Wait for one verification interval. If it stays, look at MetricsAvailable and the operator's log.",
    )
    VERIFICATION_DISABLED = (
        "VerificationDisabled",
        "spec.verification.source is None: nothing is read, so nothing is known.",
        "Set spec.verification.source to Scrape to have it judged.",
    )
    NO_WORKERS = (
        "NoWorkers",
        "There is no started worker pod to read.",
        "See Available and Progressing for why there are none.",
    )
    NOT_SCRAPED = (
        "NotScraped",
        "A worker has started since the last read and is read at once; verdicts stand on the others until then.",
        "Wait a few seconds. If it stays, look at the operator's log and its pd_operator_scrapes_total.",
    )
    SCRAPED = "Scraped", "Every started worker's metrics page was read in time, whole and sane."
    SCRAPE_FAILED = (
        "ScrapeFailed",
        (
            "At least one worker's page couldn't be read twice in a row; the message names pods and why. Verdicts "
            "stand on the others."
        ),
        (
            "`kubectl get --raw /api/v1/namespaces/NS/pods/POD:30000/proxy/metrics`. If that works, a NetworkPolicy "
            "keeps the operator out; else the worker hangs: read its log."
        ),
    )
    SERIES_MISSING = (
        "SeriesMissing",
        (
            "A page was read but has none of the transfer series: the container isn't a prefill/decode worker, or "
            "runs with its metrics off."
        ),
        "Check spec.engine.image, and that the pod's command serves in prefill or decode mode.",
    )
    NOT_REPORTED = (
        "NotReported",
        "Transfers happen but the byte series stay at zero: nobody writes the metric. No factor can be judged.",
        "Use a worker version that writes its transfer metrics. The link isn't at fault.",
    )
    UNSUPPORTED_TYPE = (
        "UnsupportedType",
        "The transfer metric is a gauge, as old engines had it: only its last value shows, which can't be compared.",
        "Use a worker version that exports kv_transfer_total_mb as a histogram.",
    )

    # The transport.
    TRANSPORT_IN_USE = "TransportInUse", "The workers use the transport and backend asked for."
    RDMA_DEVICE_NOT_FOUND = (
        "RDMADeviceNotFound",
        (
            "RDMA was asked for but the engine moves KV over TCP, as it does without a word when no RDMA device is "
            "visible in the pod. The message names pods and nodes."
        ),
        (
            "On the node: `ls /sys/class/infiniband`. In the pod: /dev/infiniband must exist and its resource be "
            "granted. Where TCP is enough, set spec.transfer.transport to TCP or Auto."
        ),
    )
    FELL_BACK_TO_TCP = (
        "FellBackToTCP",
        (
            "transport Auto settled for TCP on at least one worker because no RDMA device is visible there. It works, "
            "slower."
        ),
        "Give the pods RDMA devices; or set spec.transfer.transport to TCP to say that this is wanted.",
    )
    UNEXPECTED_TRANSPORT = (
        "UnexpectedTransport",
        "A worker uses another backend or transport than asked for; the message has both.",
        "Look for environment variables or a webhook that change the engine's settings in the pod.",
    )

    # Pairing.
    NO_TRAFFIC = (
        "NoTraffic",
        (
            "No transfer was counted yet for this generation of the spec, so there is nothing to judge. Ready pods "
            "alone prove nothing."
        ),
        "Send a request. An idle deployment may stay like this; nothing is wrong.",
    )
    TRANSFERS_SUCCEED = "TransfersSucceed", "Transfers were counted and no worker's transfers fail."
    TRANSFERS_FAILING = (
        "TransfersFailing",
        (
            "Transfers of at least one worker fail and none of its succeed; the message names pods and the workers' "
            "reasons."
        ),
        (
            "Read the log of the named pods. One decode or prefill pod alone: replace it. All: a NetworkPolicy or the "
            "fabric between the nodes."
        ),
    )

    # The replica factor.
    WARMING_UP = (
        "WarmingUp",
        (
            "Too little was seen to judge: counters are compared by their increments between two reads, and the first "
            "requests may have been counted before the engine knew its factor."
        ),
        "Send more requests; the verdict comes with the next read.",
    )
    FACTOR_MATCHES = "FactorMatches", "Senders report, and receivers get, the expected number of copies."
    FACTOR_NOT_APPLIED = (
        "FactorNotApplied",
        (
            "Senders report one copy where several travel. The metric's bytes and speed are too low by the expected "
            "factor: the metric is wrong, not the link."
        ),
        (
            "Don't look for a network fault. Multiply the engine's figure by the expected factor, and upgrade the "
            "engine (SGLang counts all copies since 0.5.16)."
        ),
    )
    FACTOR_APPLIED_TWICE = (
        "FactorAppliedTwice",
        "Senders report the square of the factor: it was multiplied in twice. The metric is wrong, not the link.",
        "Remove the correction from your recording rules or the engine's patch: one of them is enough.",
    )
    UNEXPLAINED_RATIO = (
        "UnexplainedRatio",
        (
            "Senders report a number of copies that no known error explains. Bytes that nobody expects are moved or "
            "counted."
        ),
        (
            "Compare the pods the message names: a mixture of versions, another attention layout, or side state that "
            "every rank sends in full."
        ),
    )
    WIRE_BYTES_MISMATCH = (
        "WireBytesMismatch",
        (
            "Senders' reports fit the topology but receivers count other bytes, three reads with traffic in a row. "
            "The topology in the pods isn't the declared one, or data is lost or sent twice."
        ),
        "Check the workers' /server_info for their real tensor and context sizes, and pd_kv_pages_corrupt_total.",
    )
    FACTOR_UNKNOWN = (
        "FactorUnknown",
        "No rule says what the factor is for this engine, version or feature, so nothing is compared. Never a guess.",
        "See status.topology.derivation for what is missing.",
    )

    # The SLO.
    NOT_CONFIGURED = "NotConfigured", "The spec has no bandwidth floor.", "Nothing to do unless one is wanted."
