"""How an answer looks in a notebook: the flow from diagnoses to procedures, then the procedures as a table.

A notebook decides about colours and fonts, so text takes those of the page around it.
"""

from __future__ import annotations

from dx2px.answers.results import SCOPE, Answer, Procedure, shown_probability
from dx2px.report.explanation_words import names_of, percent, reason_names
from dx2px.report.flow import WIDTH, flow_figure
from dx2px.report.markup import Markup, el, table

REASONS = 3  # named for a procedure, at most
LEAST_SHARE = 0.01  # of one that is named
_LEFT, _RIGHT = "text-align:left", "text-align:right"


def answer_html(answer: Answer) -> str:
    """A fragment of HTML that needs neither scripts nor style sheets."""
    unknown = [names_of(answer).write(one.code) for one in answer.diagnoses if one.status == "unknown"]
    missing = el("p", f"Unknown to the model and not used: {', '.join(unknown)}.") if unknown else None
    flow = el("div", flow_figure(answer), style=f"max-width:{WIDTH:g}px")
    said = [el("p", one.text) for one in answer.remarks]
    return str(el("div", flow, _procedures(answer), missing, said, el("p", el("small", SCOPE))))


def _procedures(answer: Answer) -> Markup:
    names = ("rank", "code", "procedure", "probability", "because of")
    heads = [el("th", name, style=_RIGHT if name in ("rank", "probability") else _LEFT) for name in names]
    return table(heads, [_row(answer, one) for one in answer.procedures])


def _row(answer: Answer, one: Procedure) -> Markup:
    titles = reason_names(answer)
    reasons = [
        f"{titles[reason.code]} ({percent(reason.share)})"
        for reason in one.because[:REASONS]
        if reason.share >= LEAST_SHARE
    ]
    rank = "–" if one.rank is None else str(one.rank)
    cells = (
        (rank, _RIGHT),
        (names_of(answer).write(one.code), _LEFT),
        (one.title, _LEFT),
        (shown_probability(one.probability) if one.status == "known" else one.status, _RIGHT),
        ("; ".join(reasons), _LEFT),
    )
    return el("tr", [el("td", text, style=side) for text, side in cells])
