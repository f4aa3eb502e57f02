"""The tables of a study of faithfulness, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dx2px.lab.tables import table

Record = Mapping[str, Any]
OWN = ("shares", "own plan", "plan")  # what a method itself shows as its reasons


def markdown(record: Record) -> str:
    """All tables, one section per question."""
    cohort = record["cohort"]
    lines = [
        "# Faithfulness of explanations",
        "",
        f"{cohort['asked']:,} stays with {cohort['asked_procedures']:,} procedures that no model learned from; "
        f"{record['settings']['level']:.0%} intervals over {record['settings']['resamples']} resamples of stays. "
        f"Scale of all falls: {record['scale']}.",
        "",
    ]
    lines += _models(record)
    for name, model in record["models"].items():
        if "planted" in model:
            lines += _planted(name, model)
    for name, model in record["models"].items():
        for target, found in model["deletion"].items():
            lines += _deletion(name, model, target, found)
    lines += _stability(record["stability"])
    for name, model in record["models"].items():
        if "plan_settings" in model:
            lines += _settings(name, model["plan_settings"])
        if "penalties" in model:
            lines += _penalties(name, model["penalties"])
    return "\n".join(lines).rstrip() + "\n"


def _models(record: Record) -> list[str]:
    rows = [
        [name, m["family"], m["seed"], m["fold"], *(f"{m['accuracy'][f'f1@{L}']:.1f}" for L in (1, 3, 5, 10))]
        for name, m in record["models"].items()
    ]
    head = ["model", "method", "seed", "fold", "F1@1, %", "F1@3, %", "F1@5, %", "F1@10, %"]
    lines = ["## Models", "", table(head, rows)]
    for name, m in record["models"].items():
        if "background" in m:
            lines += [
                f"{name} takes more evidence than diagnoses, and was asked about diagnoses alone. The background has "
                f"{m['background']['significance']:.1%} of the significance and {m['background']['share']:.1%} of the "
                "coded procedures, on average; the rest is the diagnoses'.",
                "",
            ]
    return lines


def _planted(name: str, model: Record) -> list[str]:
    rows = [
        [
            attribution,
            _percent(r["accuracy"]),
            _percent(r["of_posterior"]),
            _percent(r["over_lift"]),
            _decimals(r["roc"]),
            _decimals(r["pr"]),
        ]
        for attribution, r in best_first(model["planted"], "accuracy")
    ]
    head = ["attribution", "top-1 cause accuracy, %", "of the posterior's, %", "over lift, points"]
    head += ["ROC area", "PR area"]
    first = [
        [attribution, _percent(r["ahead"]), _percent(r["first"])]
        for attribution, r in model["causes_first"].items()
    ]
    weights = ["weights", "a cause above a non-cause, %", "the largest is a cause, %"]
    title = f"## Planted causes: {name} ({model['family']})"
    return [title, "", table(head, rows), table(weights, first)]


def _deletion(name: str, model: Record, target: str, found: Record) -> list[str]:
    curves = model["curves"].get(target, {})
    rows = [
        [
            attribution,
            _decimals(r["fall"]),
            _percent(r["of_best"]),
            *(
                _list(curves[attribution][side]) if attribution in curves else ""
                for side in ("comprehensiveness", "sufficiency")
            ),
        ]
        for attribution, r in best_first(found, "fall")
    ]
    head = ["attribution", "fall", "of leave-one-out's, %", "comprehensiveness, k = 1, 2, …", "sufficiency"]
    return [f"## Deletion, {target} procedures: {name} ({model['family']})", "", table(head, rows)]


def _stability(found: Record) -> list[str]:
    lines = []
    for family, one in found.items():
        agreement = one["significance"]
        lines += [f"## Stability: {family}, {len(one['models'])} models", ""]
        if agreement is not None:
            lines += [
                f"Significance: Spearman {agreement['spearman']:.3f}, Kendall {agreement['kendall']:.3f}, "
                f"the same diagnosis first in {agreement['first']:.1%} of the stays.",
                "",
            ]
        rows = [
            [attribution, f"{100 * o['first']:.1f}", f"{o['variation']:.3f}"]
            for attribution, o in one["overlap"].items()
        ]
        lines.append(table(["attribution", "same first diagnosis, %", "total variation"], rows))
    return lines


def _settings(name: str, settings: Sequence[Record]) -> list[str]:
    rows = [
        [
            f"{s['beta']:g}",
            s["steps"],
            f"{100 * s['overlap']['first']:.1f}",
            f"{s['overlap']['variation']:.3f}",
            "" if s["accuracy"] is None else f"{100 * s['accuracy']:.1f}",
        ]
        for s in settings
    ]
    head = ["β", "steps", "same first as the default plan, %", "total variation", "top-1 cause accuracy, %"]
    return [f"## The paper's plan by β and steps: {name}", "", table(head, rows)]


def _penalties(name: str, found: Sequence[Record]) -> list[str]:
    rows = [
        [
            "exact, no entropy" if f["diagnosis_penalty"] is None else f"{f['diagnosis_penalty']:g}",
            f"{f['entropy']:g}",
            f"{100 * f['accuracy']:.1f}",
        ]
        for f in found
    ]
    head = ["penalty of the diagnoses' marginal", "entropy", "top-1 cause accuracy, %"]
    return [f"## Relaxing the marginal: {name}", "", table(head, rows)]


def _percent(interval: Record | None) -> str:
    if interval is None:
        return "–"
    return f"{100 * interval['value']:.1f} [{100 * interval['low']:.1f}, {100 * interval['high']:.1f}]"


def _decimals(interval: Record) -> str:
    return f"{interval['value']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def best_first(found: Record, measure: str) -> list[tuple[str, Record]]:
    """The attributions, sorted by one of their measures."""
    return sorted(found.items(), key=lambda item: -item[1][measure]["value"])
