"""Rules for compute resources: what Kubernetes would refuse only later, at the pods."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pdoperator.api.rules.rule import Arg, Rule

GPU = "nvidia.com/gpu"
Amounts = Mapping[str, Any]


def compute_rules(role: str) -> tuple[Rule, ...]:
    """All rules of a role."""
    return (
        *whole_numbers(role),
        *whole_bytes(role),
        whole_shm(role),
        requests_equal_limits(role),
        gpus_match(role),
    )


def whole_numbers(role: str) -> tuple[Rule, ...]:
    """Extended resources, those with a slash in their names, come in whole pieces."""

    def broken(key: str, amount: object) -> bool:
        return "/" in key and re.fullmatch("[0-9]+", str(amount)) is None

    return _for_each_list(
        role,
        bad_cel="k.contains('/') && !string(self[k]).matches('^[0-9]+$')",
        broken=broken,
        says="%s %s is not a whole number",
    )


def whole_bytes(role: str) -> tuple[Rule, ...]:
    """An amount in m is thousandths: of a CPU it makes sense, of a byte it is a typing mistake for M."""

    def broken(key: str, amount: object) -> bool:
        return key in {"memory", "ephemeral-storage"} and str(amount).endswith("m")

    return _for_each_list(
        role,
        bad_cel="(k == 'memory' || k == 'ephemeral-storage') && string(self[k]).endsWith('m')",
        broken=broken,
        says="%s %s is in thousandths of a byte: write M or Mi",
    )


def whole_shm(role: str) -> Rule:
    """The same for the size of /dev/shm."""
    return Rule(
        path=("spec", role, "template", "shmSize"),
        cel="!string(self).endsWith('m')",
        holds=lambda amount: not str(amount).endswith("m"),
        says="shmSize %s is in thousandths of a byte: write M or Mi",
        args=(Arg("string(self)", str),),
    )


def requests_equal_limits(role: str) -> Rule:
    """Extended resources can't be overcommitted: what is requested is the limit."""
    granted = "has(self.limits) && k in self.limits && string(self.limits[k]) == string(self.requests[k])"
    unequal_cel = f"k.contains('/') && !({granted})"

    def unequal(resources: Mapping[str, Amounts]) -> list[str]:
        limits = resources.get("limits", {})
        amounts = resources.get("requests", {}).items()
        return [key for key, amount in amounts if "/" in key and str(limits.get(key)) != str(amount)]

    return Rule(
        path=("spec", role, "template", "resources"),
        cel=f"!has(self.requests) || !self.requests.exists(k, {unequal_cel})",
        holds=lambda resources: not unequal(resources),
        says="requests of %s must be in limits too, with the same amount",
        args=(Arg(f"self.requests.filter(k, {unequal_cel})[0]", lambda resources: unequal(resources)[0]),),
    )


def gpus_match(role: str) -> Rule:
    """A rank is a process on a GPU of its own, so a pod has as many as it has ranks, or none at all."""
    limits = f"self.template.resources.limits['{GPU}']"
    ranks = Arg(
        "self.parallelism.tensor * self.parallelism.pipeline",
        lambda spec: spec["parallelism"]["tensor"] * spec["parallelism"]["pipeline"],
    )

    def given(spec: Mapping[str, Any]) -> str:
        limits = spec.get("template", {}).get("resources", {}).get("limits", {})
        return str(limits.get(GPU, ""))

    return Rule(
        path=("spec", role),
        cel="!has(self.template) || !has(self.template.resources) || !has(self.template.resources.limits)"
        f" || !('{GPU}' in self.template.resources.limits) || string({limits}) == string({ranks.cel})",
        holds=lambda spec: given(spec) in {"", str(ranks.get(spec))},
        says=f"{GPU} %s does not match tensor x pipeline, which is %d",
        args=(Arg(f"string({limits})", given), ranks),
    )


def _for_each_list(role: str, *, bad_cel: str, broken: Callable[[str, object], bool], says: str) -> tuple[Rule, ...]:
    def first(amounts: Amounts) -> tuple[str, object] | None:
        return next(((key, amount) for key, amount in amounts.items() if broken(key, amount)), None)

    def part(index: int) -> Callable[[Amounts], str]:
        return lambda amounts: str((first(amounts) or ("", ""))[index])

    key = f"self.filter(k, {bad_cel})[0]"
    return tuple(
        Rule(
            path=("spec", role, "template", "resources", kind),
            cel=f"!self.exists(k, {bad_cel})",
            holds=lambda amounts: first(amounts) is None,
            says=says,
            args=(Arg(key, part(0)), Arg(f"string(self[{key}])", part(1))),
        )
        for kind in ("requests", "limits")
    )
