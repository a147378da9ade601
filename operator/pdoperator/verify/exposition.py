"""A bounded parser of Prometheus' text format. What it reads comes from pods: it may be anything, in any amount."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pdoperator.verify.samples import Series


class Malformed(Exception):  # noqa: N818 -- says what the page is
    """Not Prometheus text, or more of it than any honest page has."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an honest page never exceeds: an engine's with histograms for 128 ranks has about 6,000 series."""

    characters: int = 4 << 20  # as many bytes as the scrape takes; a second fence for other callers
    series: int = 20_000
    line: int = 4_096
    labels: int = 32
    label_value: int = 1_024


_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")  # with the colon that SGLang has in its names
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_VALUE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?|[+-]?Inf|NaN")
_TAIL = re.compile(r"(?:[ \t]+-?[0-9]{1,20})?(?:[ \t]+#[ \t].*)?[ \t]*")  # a timestamp, an exemplar
_ESCAPES: Final = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r'\\[n"\\]')


def parse(text: str, *, limits: Limits | None = None) -> tuple[Series, ...]:
    """Every sample of the page, in its order. Raises Malformed and nothing else."""
    limits = limits or Limits()
    if len(text) > limits.characters:
        raise Malformed(f"{len(text)} characters, more than {limits.characters}")
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Series] = {}
    for number, line in _lines(text, limits=limits):
        series = _sample(line, number=number, limits=limits)
        identity = (series.name, series.labels)
        if identity in found:
            raise Malformed(f"line {number}: {series.name} appears twice with the same labels")
        if len(found) == limits.series:
            raise Malformed(f"more than {limits.series} series")
        found[identity] = series
    return tuple(found.values())


def _lines(text: str, *, limits: Limits) -> Iterator[tuple[int, str]]:
    # Only "\n" ends a line: splitlines() would also split at the exotic separators a label value may hold.
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(" \t\r")
        if len(line) > limits.line:
            raise Malformed(f"line {number}: {len(line)} characters, more than {limits.line}")
        if line and not line.startswith("#"):
            yield number, line


def _sample(line: str, *, number: int, limits: Limits) -> Series:
    name = _NAME.match(line)
    if name is None:
        raise Malformed(f"line {number}: no metric name")
    labels, end = _labels(line, name.end(), number=number, limits=limits)
    rest = line[end:].lstrip(" \t")
    value = _VALUE.match(rest)
    if value is None or _TAIL.fullmatch(rest, value.end()) is None:
        raise Malformed(f"line {number}: no value after {name.group()}")
    return Series(name=name.group(), labels=labels, value=float(value.group()))


def _labels(line: str, start: int, *, number: int, limits: Limits) -> tuple[tuple[tuple[str, str], ...], int]:
    at = start
    while at < len(line) and line[at] in " \t":
        at += 1
    if at == len(line) or line[at] != "{":
        return (), start
    at += 1
    labels: dict[str, str] = {}
    while (pair := _LABEL.match(line, at)) is not None:
        key, quoted, _ = pair.groups()
        if key in labels:
            raise Malformed(f"line {number}: label {key} twice")
        if len(labels) == limits.labels:
            raise Malformed(f"line {number}: more than {limits.labels} labels")
        if len(quoted) > limits.label_value:
            raise Malformed(f"line {number}: label {key} has {len(quoted)} characters, more than {limits.label_value}")
        labels[key] = _ESCAPE.sub(lambda found: _ESCAPES[found.group()], quoted)
        at = pair.end()
    while at < len(line) and line[at] in " \t":
        at += 1
    if at == len(line) or line[at] != "}":
        raise Malformed(f"line {number}: labels don't end")
    return tuple(sorted(labels.items())), at + 1
