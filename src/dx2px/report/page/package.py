"""What the package's model answers about real stays: it stands first in a report on synthetic ones."""

from __future__ import annotations

from dataclasses import dataclass

from dx2px.answers import Explanation, Model
from dx2px.answers.results import shown_probability
from dx2px.answers.shipped import DEFAULT, shipped_models
from dx2px.codes import Notation
from dx2px.report.flow import flow_figure
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.words import SCOPE, rendered, section, table

QUESTIONS = {
    "A broken hip, with heart failure": ["820.21", "428.0", "401.9", "V43.64"],
    "Kidney failure on dialysis, with a cardiac arrest": ["585.6", "427.5", "V45.11"],
    "A heart attack, with diabetes": ["410.71", "414.01", "250.00", "272.4"],
}
ANSWERED = 5  # procedures per question


@dataclass(frozen=True, eq=False)
class Package:
    """The package's model, and its answers to the questions above."""

    model: Model
    answers: dict[str, Explanation]


def package() -> Package | None:
    """None where the package has no model."""
    if DEFAULT not in shipped_models():
        return None
    model = Model.load()
    return Package(model, {words: model.explain(codes, top=ANSWERED) for words, codes in QUESTIONS.items()})


def package_section(found: Package) -> Markup:
    """Its measured numbers, three answers and its card."""
    files = found.model.files
    measured = files.measured or {"stays": 0, "top": {}}
    rows: list[list[Child]] = [
        [f"top {at}", *(f"{one[name]:.1f}" for name in ("recall", "precision", "f1"))]
        for at, one in sorted(measured["top"].items(), key=lambda item: int(item[0]))
    ]
    words = (
        f"The rest of this page is about synthetic stays. Here is what dx2px says about real ones: the model {DEFAULT} "
        "in the package learned from US hospital stays of 2010 (NHDS, public use file). The first table was "
        f"measured on {measured['stays']:,} stays that it did not learn from. {SCOPE}"
    )
    return section(
        "package",
        "The package's model",
        el("p", words),
        table(["", "recall (%)", "precision (%)", "F1 (%)"], rows, numbers=range(1, 4)),
        [_answer(question, answer) for question, answer in found.answers.items()],
        el("details", el("summary", "Its model card"), el("div", rendered(files.card), class_="card")),
    )


def _answer(question: str, answer: Explanation) -> Markup:
    notation = Notation.of(one.code for one in answer.procedures)
    rows: list[list[Child]] = [
        [notation.write(one.code), one.title, shown_probability(one.probability)] for one in answer.procedures
    ]
    listed = table([notation.heading, "procedure", "probability"], rows, numbers=[2])
    flow = el("div", flow_figure(answer), class_="scroll")
    return el("article", el("h3", question), flow, listed, class_="stay")
