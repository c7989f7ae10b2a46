"""Reports about models, as dataclasses that notebooks show as tables."""

from __future__ import annotations

import dataclasses
import html
from typing import Any, Dict, Iterable, List, Optional, Tuple


def table(headings: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """An HTML table."""

    def line(tag: str, cells: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line("th", headings) + "".join(line("td", row) for row in rows) + "</table>"


def heading(text: str) -> str:
    """An HTML heading."""
    return f"<h4>{html.escape(text)}</h4>"


@dataclasses.dataclass(frozen=True)
class Operator:
    """Nodes of one operator. Costs count nodes whose shapes are known."""

    domain: str
    op: str
    count: int
    macs: int
    output_bytes: int


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """Statistics of a model. `macs` and `activation_bytes` count nodes whose shapes are known."""

    model: str
    graph: str
    ir_version: int
    opsets: Dict[str, int]
    producer_name: str
    producer_version: str
    domain: str
    model_version: int
    doc: str
    metadata: Dict[str, str]
    inputs: List[Dict[str, Any]]
    outputs: List[Dict[str, Any]]
    file_bytes: int
    external_bytes: int
    n_functions: int
    n_nodes: int
    n_parameters: int
    parameter_bytes: int
    macs: int
    activation_bytes: int
    nodes_of_unknown_shape: int
    parameters_by_type: List[Dict[str, Any]]
    operators: List[Operator]

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> ModelInfo:
        """Converts the JSON object that the library writes."""
        operators = [Operator(**entry) for entry in found.pop("operators")]
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(operators=operators, **{name: value for name, value in found.items() if name in names})

    @property
    def op_counts(self) -> dict[str, int]:
        """How many nodes each operator has."""
        return {operator.op: operator.count for operator in self.operators}

    def _repr_html_(self) -> str:
        facts = [
            ("producer", f"{self.producer_name} {self.producer_version}".strip()),
            ("opsets", ", ".join(f"{domain} {version}" for domain, version in self.opsets.items())),
            ("nodes", self.n_nodes),
            ("parameters", f"{self.n_parameters:,}"),
            ("bytes of parameters", f"{self.parameter_bytes:,}"),
            ("multiply-accumulates", f"{self.macs:,}"),
        ]
        values = [
            (role, value["name"], value.get("elem_type", value["type"]), value.get("shape", ""))
            for role, listed in (("input", self.inputs), ("output", self.outputs))
            for value in listed
        ]
        operators = [(operator.op, operator.count, f"{operator.macs:,}") for operator in self.operators]
        return (
            heading(self.model or self.graph)
            + table(("", ""), facts)
            + table(("", "name", "type", "shape"), values)
            + table(("operator", "nodes", "multiply-accumulates"), operators)
        )


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem that a check found. `severity` is 'error' or 'warning'."""

    severity: str
    code: str
    message: str
    node: str = ""
    op: str = ""
    value: str = ""


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """The result of a check; true when there is no error."""

    model: str
    valid: bool
    errors: int
    warnings: int
    problems: List[Problem]

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> CheckReport:
        """Converts the JSON object that the library writes."""
        problems = [Problem(**entry) for entry in found.pop("problems")]
        return cls(problems=problems, **found)

    def __bool__(self) -> bool:
        return self.valid

    def _repr_html_(self) -> str:
        verdict = "valid" if self.valid else f"{self.errors} errors"
        rows = [(problem.severity, problem.node, problem.op, problem.message) for problem in self.problems]
        problems = table(("", "node", "operator", "problem"), rows) if rows else ""
        return heading(f"{self.model} {verdict}".strip()) + problems


@dataclasses.dataclass(frozen=True)
class PassStats:
    """The work of one pass, over all its runs."""

    name: str
    runs: int
    rewrites: int
    nodes_saved: int
    weight_bytes_saved: int
    macs_saved: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """One change of the graph."""

    pass_name: str
    rule: str
    node: str
    detail: str
    nodes_removed: int
    nodes_added: int


@dataclasses.dataclass(frozen=True)
class NearMiss:
    """A near miss: a rule that matched except for one condition, or was disabled."""

    pass_name: str
    rule: str
    node: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Optimization:
    """The rewrites of the optimizer, and its near misses."""

    opset_before: int
    opset_after: int
    stopped: bool
    passes: List[PassStats]
    rewrites: List[Rewrite]
    near_misses: List[NearMiss]
    switched_off: List[NearMiss]
    verification: Optional[Dict[str, Any]]

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Optimization:
        """Converts the JSON object that the library writes."""

        def named(entry: dict[str, Any]) -> dict[str, Any]:
            return {("pass_name" if key == "pass" else key): value for key, value in entry.items()}

        def misses(entries: list[dict[str, Any]]) -> list[NearMiss]:
            return [NearMiss(**named(entry)) for entry in entries]

        return cls(
            opset_before=found["opset_before"],
            opset_after=found["opset_after"],
            stopped=found["stopped"],
            passes=[PassStats(name=entry.pop("pass"), **entry) for entry in found["passes"]],
            rewrites=[Rewrite(**named(entry)) for entry in found["rewrites"]],
            near_misses=misses(found["near_misses"]),
            switched_off=misses(found["switched_off"]),
            verification=found.get("verification"),
        )

    def _repr_html_(self) -> str:
        passes = [
            (stats.name, stats.rewrites, stats.nodes_saved, f"{1e3 * stats.seconds:.2f}")
            for stats in self.passes
            if stats.rewrites
        ]
        rewrites = [
            (r.pass_name, r.rule, r.node, f"{r.nodes_removed} → {r.nodes_added}", r.detail) for r in self.rewrites
        ]
        misses = [(m.pass_name, m.rule, m.node, m.reason) for m in self.near_misses]
        return (
            heading(f"{len(self.rewrites)} rewrites")
            + table(("pass", "rewrites", "nodes saved", "ms"), passes)
            + table(("pass", "rule", "node", "nodes", "detail"), rewrites)
            + (heading("Nearly") + table(("pass", "rule", "node", "reason"), misses) if misses else "")
        )


@dataclasses.dataclass(frozen=True)
class ValueDiff:
    """How one output of two models differs. max_rel is relative to the largest element of the first."""

    name: str
    type: str
    equal: bool
    max_abs: float
    max_rel: float
    cosine: float
    sqnr_db: float


@dataclasses.dataclass(frozen=True)
class Diff:
    """How two models differ: in what they compute, and in their operators. True when no value does."""

    limit: float
    values: List[ValueDiff]
    operators: Dict[str, Tuple[int, int]]  #: operator: (nodes before, nodes after), where these differ
    only_in_first: List[str]  #: outputs
    only_in_second: List[str]

    @property
    def equal(self) -> bool:
        """Whether all outputs are there in both, and differ by no more than the limit."""
        return not self.only_in_first and not self.only_in_second and all(value.equal for value in self.values)

    def __bool__(self) -> bool:
        return self.equal

    def _repr_html_(self) -> str:
        values = [
            (v.name, v.type, "" if v.equal else "differs", f"{v.max_abs:.3g}", f"{v.max_rel:.3g}", f"{v.sqnr_db:.1f}")
            for v in self.values
        ]
        operators = [(op, *counts) for op, counts in self.operators.items()]
        return table(("output", "type", "", "max abs", "max rel", "SQNR dB"), values) + (
            table(("operator", "first", "second"), operators) if operators else ""
        )
