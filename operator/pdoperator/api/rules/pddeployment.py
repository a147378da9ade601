"""The rules of a PDDeployment that a schema can't say, in the order in which they are told to the user."""

import re
from collections.abc import Mapping
from typing import Any

from pdoperator.api.rules.resources import compute_rules
from pdoperator.api.rules.rule import EACH, Arg, Rule, absent, at, itself, only, quotient
from pdoperator.api.types import NAME_LIMIT, duration_seconds

ROLES = ("prefill", "decode")
NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
# The worker's own settings, and PD_LEGACY_ACCOUNTING so that a test can show the check fail.
FREE_ENV = (
    "PD_BOOTSTRAP_TIMEOUT_SECONDS",
    "PD_LEGACY_ACCOUNTING",
    "PD_LOG_LEVEL",
    "PD_POOL_TOKENS",
    "PD_WAITING_TIMEOUT_SECONDS",
)
# One pod holds a replica, and its engines share 128 ports, two each, chosen at random; half of them stay free.
MAX_RANKS = 32
MAX_TOLERANCE = 0.25  # further off, one copy and a factor of two would look alike
MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 1, 3600


def _name_rules() -> tuple[Rule, ...]:
    length = Arg("size(self.metadata.name)", lambda obj: len(obj["metadata"]["name"]))
    name = at("metadata.name")
    return (
        Rule(
            path=(),
            cel=f"size(self.metadata.name) <= {NAME_LIMIT}",
            holds=lambda obj: length.get(obj) <= NAME_LIMIT,
            says=f"metadata.name has %d characters, at most {NAME_LIMIT} are allowed: names of pods derive from it",
            args=(length,),
            field="metadata.name",
        ),
        Rule(
            path=(),
            cel=f'self.metadata.name.matches("{NAME_PATTERN}")',
            holds=lambda obj: re.search(NAME_PATTERN, name.get(obj)) is not None,
            says="metadata.name %s must be lower-case letters, digits and '-' and start with a letter, as in Services",
            args=(name,),
            field="metadata.name",
        ),
    )


def _unsupported() -> tuple[Rule, ...]:
    roles = [
        only(f"spec.{role}.parallelism.{field}", 1)
        for role in ROLES
        for field in ("data", "pipeline", "context")
        if (role, field) != ("prefill", "context")
    ]
    return (
        only("spec.model.attention", "MLA"),
        only("spec.engine.name", "Builtin"),
        absent("spec.engine.version", shown=True),
        absent("spec.engine.args"),
        absent("spec.engine.features"),
        only("spec.transfer.backend", "Mooncake"),
        absent("spec.transfer.devices"),
        absent("spec.transfer.resources"),
        *roles,
        absent("spec.slo"),
        only("spec.verification.source", "Scrape", "None"),
    )


def _geometry() -> tuple[Rule, ...]:
    def mla(model: Mapping[str, Any]) -> bool:
        return model.get("attention") == "MLA" and "geometry" in model

    is_mla = "has(self.attention) && self.attention == 'MLA' && has(self.geometry)"
    return (
        Rule(
            path=("spec", "model"),
            cel=f"!({is_mla}) || (has(self.geometry.kvLoraRank) && has(self.geometry.qkRopeHeadDim))",
            holds=lambda model: not mla(model) or {"kvLoraRank", "qkRopeHeadDim"} <= set(model["geometry"]),
            says="geometry of attention MLA needs layers, kvLoraRank and qkRopeHeadDim",
        ),
        Rule(
            path=("spec", "model"),
            cel=f"!({is_mla}) || (!has(self.geometry.kvHeads) && !has(self.geometry.headDim))",
            holds=lambda model: not mla(model) or not {"kvHeads", "headDim"} & set(model["geometry"]),
            says="geometry of attention MLA has no kvHeads and no headDim: those are of MHA",
        ),
    )


def _exact_split(role: str) -> tuple[Rule, ...]:
    path = ("spec", role, "parallelism")
    tensor, context, data = at("tensor"), at("context"), at("data")
    return (
        Rule(
            path=path,
            cel="self.tensor % self.context == 0",
            holds=lambda p: p["tensor"] % p["context"] == 0,
            says="tensor %d is not a multiple of context %d",
            args=(tensor, context),
        ),
        Rule(
            path=path,
            cel="self.data == 1 || self.tensor % (self.context * self.data) == 0",
            holds=lambda p: p["data"] == 1 or p["tensor"] % (p["context"] * p["data"]) == 0,
            says="tensor %d is not a multiple of context %d x data %d",
            args=(tensor, context, data),
        ),
        Rule(
            path=path,
            cel=f"self.tensor * self.pipeline <= {MAX_RANKS}",
            holds=lambda p: p["tensor"] * p["pipeline"] <= MAX_RANKS,
            says=f"tensor %d is not supported yet (at most {MAX_RANKS}): a replica is one pod",
            args=(tensor,),
            unsupported=True,
        ),
    )


def _pair() -> Rule:
    """Engines pair ranks by whole division: where neither width divides the other, some rank waits for ever."""

    def sizes(role: str) -> tuple[str, str, str]:
        return tuple(f"{role}.parallelism.{field}" for field in ("tensor", "context", "data"))  # type: ignore[return-value] # three fields make three paths

    prefill, decode = (quotient(*sizes(role)) for role in ROLES)
    exact = [f"self.{t} % (self.{c} * self.{d}) != 0" for t, c, d in map(sizes, ROLES)]

    def holds(spec: Mapping[str, Any]) -> bool:
        wide, narrow = sorted((prefill.get(spec), decode.get(spec)), reverse=True)
        return bool(wide % narrow == 0)  # exact by the rules before, which CEL doesn't stop at

    p, d = f"({prefill.cel})", f"({decode.cel})"
    return Rule(
        path=("spec",),
        cel=" || ".join([*exact, f"{p} % {d} == 0", f"{d} % {p} == 0"]),
        holds=holds,
        says="prefill attention TP %d and decode attention TP %d can't be paired: neither is a multiple of the other"
        " (attention TP is tensor / context)",
        args=(prefill, decode),
    )


def _environment() -> Rule:
    def holds(name: str) -> bool:
        return not name.startswith(("PD_", "POD_")) or name in FREE_ENV

    return Rule(
        path=("spec", "engine", "env", EACH, "name"),
        cel=f"!(self.startsWith('PD_') || self.startsWith('POD_')) || self in {list(FREE_ENV)}",
        holds=holds,
        says="%s is set by the operator and can't be set here: names in PD_ and POD_ are its own, but for "
        + ", ".join(FREE_ENV),
        args=(itself(),),
    )


def _verification() -> tuple[Rule, ...]:
    return (
        Rule(
            path=("spec", "verification", "interval"),
            cel=f"duration(self) >= duration('{MIN_INTERVAL_SECONDS}s')"
            f" && duration(self) <= duration('{MAX_INTERVAL_SECONDS}s')",
            holds=lambda text: MIN_INTERVAL_SECONDS <= duration_seconds(text) <= MAX_INTERVAL_SECONDS,
            says="interval %s is not between 1s and 1h",
            args=(itself(),),
        ),
        Rule(
            path=("spec", "verification", "tolerance"),
            cel=f"double(self) <= {MAX_TOLERANCE}",
            holds=lambda text: float(text) <= MAX_TOLERANCE,
            says=f"tolerance %s is more than {MAX_TOLERANCE}",
            args=(itself(),),
        ),
    )


RULES: tuple[Rule, ...] = (
    *_name_rules(),
    *_unsupported(),
    *_geometry(),
    *(rule for role in ROLES for rule in _exact_split(role)),
    _pair(),
    _environment(),
    *(rule for role in ROLES for rule in compute_rules(role)),
    *_verification(),
)
