"""A rule of the API that a schema can't say: once in CEL for the API server, once in Python, with one message.

The API tests hold the two to each other on a real API server.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pdoperator.api.errors import Invalid, Unsupported

Path = tuple[str, ...]
EACH = "*"  # in a path: every item of a list


@dataclass(frozen=True, slots=True)
class Arg:
    """A figure that a rule judges and its message names, in both languages."""

    cel: str
    get: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of the value at `path`; `says` is a format for `args`, with %s and %d only."""

    path: Path
    cel: str
    holds: Callable[[Any], bool]
    says: str
    args: tuple[Arg, ...] = ()
    unsupported: bool = False
    field: str = ""  # what to call it, where the path doesn't say

    def message_for(self, value: object) -> str:
        """The message for a value that breaks the rule."""
        return self.says % tuple(arg.get(value) for arg in self.args)

    def schema(self) -> dict[str, str]:
        """The rule as an item of x-kubernetes-validations."""
        if not self.args:
            return {"rule": self.cel, "message": self.says}
        arguments = ", ".join(arg.cel for arg in self.args)
        fallback = self.says.replace("%s", "…").replace("%d", "…")
        return {
            "rule": self.cel,
            "messageExpression": f"{_quoted(self.says)}.format([{arguments}])",
            "message": fallback,  # where the expression fails
        }


def check(rules: tuple[Rule, ...], obj: Mapping[str, Any]) -> None:
    """Raise for the first rule that the object breaks; the object has its defaults filled in."""
    for rule in rules:
        for field, value in _values(obj, rule.path):
            if not rule.holds(value):
                raise (Unsupported if rule.unsupported else Invalid)(rule.field or field, rule.message_for(value))


def at(path: str) -> Arg:
    """The field of this dotted path below the rule's own."""
    return Arg(f"self.{path}", lambda value: _dig(value, path))


def itself() -> Arg:
    """The value at the rule's own path."""
    return Arg("self", lambda value: value)


def quotient(first: str, *divisors: str) -> Arg:
    """Whole division of one field by others."""

    def get(value: object) -> int:
        result = int(_dig(value, first))
        for divisor in divisors:
            result //= int(_dig(value, divisor))
        return result

    return Arg(" / ".join(f"self.{path}" for path in (first, *divisors)), get)


def only(path: str, allowed: str | int, *others: str) -> Rule:
    """The one value (or few) that something acts on; others are in the schema but not supported yet."""
    values = (allowed, *others)
    field, _, verb = path.rpartition(".")[2], None, "%d" if isinstance(allowed, int) else "%s"
    listed = " or ".join(str(value) for value in values)
    return Rule(
        path=tuple(path.split(".")),
        cel=" || ".join(f"self == {_quoted(value) if isinstance(value, str) else value}" for value in values),
        holds=lambda value: value in values,
        says=f"{field} {verb} is not supported yet (only {listed})",
        args=(itself(),),
        unsupported=True,
    )


def absent(path: str, *, shown: bool = False) -> Rule:
    """A field that nothing acts on yet: refused where it is given; `shown` puts its text into the message."""
    field = path.rpartition(".")[2]
    return Rule(
        path=tuple(path.split(".")),
        cel="false",
        holds=lambda _: False,
        says=f"{field} {'%s ' if shown else ''}is not supported yet",
        args=(itself(),) if shown else (),
        unsupported=True,
    )


def _values(obj: object, path: Path) -> Iterator[tuple[str, Any]]:
    """Every value at the path that is there, with its field's name in full."""
    found: list[tuple[str, Any]] = [("", obj)]
    for step in path:
        if step == EACH:
            found = [(f"{field}[{index}]", item) for field, items in found for index, item in enumerate(items)]
        else:
            found = [(f"{field}.{step}".lstrip("."), item[step]) for field, item in found if step in item]
    yield from found


def _dig(value: Any, path: str) -> Any:  # noqa: ANN401 -- whatever the object holds there
    for step in path.split("."):
        value = value[step]
    return value


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
