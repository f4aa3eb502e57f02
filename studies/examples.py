"""What do the default model and the paper's make of the nine worked stays of Luo, Xu and Carin (2019)?

Makes docs/examples.md. Both models are in the package and learned from the same stays.

    python studies/examples.py                     # prints the tables
    python studies/examples.py --docs docs         # regenerates pictures and tables of docs/examples.md
    python studies/examples.py --model model       # another model than the package's default one
    python studies/examples.py --counts C.parquet  # how often the pairs that the readings name occur in a cohort

The code lists are those that the paper prints for its figure of three stays and the two figures of its appendix; its
procedures are the five that its own model, trained on MIMIC-III, recommended. Printed procedure codes have lost their
leading zeros: its p17 is 00.17.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dx2px.answers import Explanation, Model, Procedure
from dx2px.answers.shipped import model_path
from dx2px.codes import dotted
from dx2px.cohort import Cohort
from dx2px.report.explanation import explanation_figure
from dx2px.storage import atomic_path, write_text

DPI, COLOURS = 100, 160  # of the small pictures
PAPER = "nhds2010-paper"
LISTED = 5


@dataclass(frozen=True)
class Stay:
    """Codes as the paper prints them, with dots and zeros put back."""

    name: str
    diagnoses: tuple[str, ...]
    procedures: tuple[str, ...]  # the paper's recommendations


def stay(name: str, diagnoses: str, procedures: str) -> Stay:
    return Stay(name, tuple(diagnoses.split()), tuple(procedures.split()))


STAYS = (
    stay(
        "Kidney failure with a cardiac arrest",
        "585.6 427.5 518.81 425.4 427.32 250.00 530.81 276.7 427.31 272.4 365.9",
        "38.93 99.60 96.71 96.04 39.95",
    ),
    stay(
        "Septic shock",
        "038.9 785.52 434.11 518.84 410.71 584.5 428.0 599.0 V58.67 294.8 401.9 V45.01 995.92",
        "00.17 96.04 96.72 96.6 38.93",
    ),
    stay(
        "Pulmonary insufficiency",
        "518.82 327.23 493.20 428.30 428.0 584.9 276.2 276.0 416.8",
        "38.91 96.71 96.04 38.93 93.90",
    ),
    stay(
        "Herpetic meningoencephalitis",
        "054.3 518.81 348.5 401.9 272.0 424.0",
        "33.1 96.71 96.04 96.6 38.93",
    ),
    stay(
        "Paraproteinemia with acute kidney failure",
        "273.2 584.9 276.1 276.7 583.9 285.9 710.2",
        "99.71 38.93 55.23 38.95 39.95",
    ),
    stay(
        "Mitral valve disorder",
        "424.0 585.9 427.31 244.9 401.9 272.0 V58.61 285.9 274.9",
        "37.33 88.72 35.23 99.04 39.61",
    ),
    stay(
        "Coronary disease with heart failure",
        "414.01 428.22 413.9 272.0 274.9 428.0 412",
        "36.12 88.56 37.22 39.61 36.15",
    ),
    stay(
        "A preterm triplet",
        "V34.01 765.16 747.0 V05.3 774.2 770.6 765.25 770.81 779.81",
        "96.04 93.90 96.6 99.83 99.55",
    ),
    stay("Coronary disease", "414.01 401.9 272.0", "36.12 88.56 37.22 39.61 36.15"),
)


# Pairs that the readings of docs/examples.md mention: a diagnosis, and a code that goes with it or does not.
PAIRS = (
    ("icd9cm:3485", "icd9pcs:0159"),
    ("icd9cm:4240", "icd9pcs:3523"),
    ("icd9cm:41401", "icd9pcs:0066"),
    ("icd9cm:41401", "icd9pcs:3612"),
    ("icd9cm:V053", "icd9pcs:640"),
    ("icd9cm:4139", "icd9cm:41401"),
)


def commands(one: Stay, number: int) -> str:
    """What a reader types to get the two pictures."""
    codes = " ".join(one.diagnoses)
    return (
        f"dx2px explain {codes} --out stay-{number}.png\n"
        f"dx2px explain {codes} --out stay-{number}-paper.png --model {PAPER}"
    )


def save_small(explanation: Explanation, path: Path) -> None:
    """The figure as a PNG of few colours, small enough for a document."""
    from PIL import Image

    drawn = io.BytesIO()
    explanation_figure(explanation).savefig(drawn, format="png", dpi=DPI)
    few = (
        Image.open(drawn)
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    )
    with atomic_path(path) as draft:
        few.save(draft, format="png", optimize=True)


def table(model: Model, paper: Model, one: Stay) -> str:
    """How both models rank the paper's five procedures, and which codes they do not know."""
    explained, other = (made.explain(one.diagnoses, one.procedures) for made in (model, paper))
    head = ["the paper's procedure", "rank", "probability", "leading diagnoses"]
    head += ["rank by E+SA+MA", "its leading diagnoses"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for ours, theirs in zip(explained.procedures, other.procedures, strict=True):
        likely = "–" if ours.probability is None else f"{ours.probability:.1%}"
        cells = [f"{dotted(ours.code)} {ours.title}", _rank(ours), likely, _because(ours)]
        lines.append(f"| {' | '.join([*cells, _rank(theirs), _because(theirs)])} |")
    return "\n".join([*lines, "", *_statuses(explained)])


def _rank(procedure: Procedure) -> str:
    """Bold if it is among the first five."""
    if procedure.status == "unknown" or procedure.rank is None:
        return "unknown"
    return f"**{procedure.rank}**" if procedure.rank <= LISTED else str(procedure.rank)


def _because(procedure: Procedure) -> str:
    told = [f"{dotted(r.code)} {r.share:.0%}" for r in procedure.because[:3] if r.share >= 0.05]
    return ", ".join(told) or "–"


def _statuses(explained: Explanation) -> list[str]:
    backed_off = [
        f"{dotted(d.code)} (read as the mean of the model's {d.stand_in.codes} under {dotted(d.stand_in.code)})"
        for d in explained.diagnoses
        if d.stand_in is not None
    ]
    unknown = [dotted(d.code) for d in (*explained.diagnoses, *explained.procedures) if d.status == "unknown"]
    found = [f"New to the model: {'; '.join(backed_off)}."] if backed_off else []
    found += [f"Unknown to the model: {', '.join(unknown)}."] if unknown else []
    return found or ["The model knows all of these codes."]


def block(model: Model, paper: Model, one: Stay, number: int) -> str:
    """The generated part of one stay in the document."""
    ours = f"![The five best procedures for this stay, and what leads to them](pictures/stay-{number}.png)"
    theirs = f"![The same by the paper's model, E+SA+MA: μ and T](pictures/stay-{number}-paper.png)"
    parts = [
        f"```\n{commands(one, number)}\n```",
        ours,
        "By the paper's model:",
        theirs,
        table(model, paper, one),
    ]
    return "\n\n".join(parts)


def summary(model: Model, paper: Model) -> str:
    """Which models these are, and how many of the paper's recommendations are among the first five of each."""
    return f"{_summary(model, 'The default model')} {_summary(paper, 'The paper’s')} Their ranks are in bold."


def _summary(model: Model, name: str) -> str:
    best = [{p.code for p in model.explain(one.diagnoses).procedures} for one in STAYS]
    theirs = [model.procedures.find_all(one.procedures) for one in STAYS]
    shared = sum(found.code in codes for codes, listed in zip(best, theirs, strict=True) for found in listed)
    sizes = f"{len(model.files.diagnoses):,} diagnoses and {len(model.files.procedures):,} procedures"
    return (
        f"{name}: `{model.files.method}`, {sizes}, fingerprint `{model.source.fingerprint[:12]}`; "
        f"of the paper's {sum(map(len, theirs))} recommendations {shared} are among its first five."
    )


def counts(cohort: Cohort) -> str:
    """Of the stays with each pair's first code, those with its second; in brackets, of all stays."""
    stays = [{*cohort.diagnoses_of(row), *cohort.procedures_of(row)} for row in range(len(cohort))]
    lines = []
    for code, other in PAIRS:
        some = [codes for codes in stays if code in codes]
        both, anywhere = sum(other in codes for codes in some), sum(other in codes for codes in stays)
        share, usual = both / max(len(some), 1), anywhere / len(stays)
        pair = f"{both:,} of {len(some):,} stays with {dotted(code)} have {dotted(other)}: {share:.1%}"
        lines.append(f"{pair} ({usual:.1%} of all)")
    return "\n".join(lines)


def regenerated(text: str, parts: Mapping[str, str]) -> str:
    """The document with the text between each pair of marks replaced."""
    for mark, part in parts.items():
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{part}\n{end}{rest.partition(end)[2]}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--docs", type=Path, help="the folder with examples.md and pictures/")
    parser.add_argument("--counts", type=Path, metavar="COHORT")
    asked = parser.parse_args()
    if asked.counts is not None:
        print(counts(Cohort.load(asked.counts)))
        return
    model, paper = Model.load(model_path(asked.model)), Model.load(model_path(PAPER))
    parts = {f"stay {number}": block(model, paper, one, number) for number, one in enumerate(STAYS, start=1)}
    parts["summary"] = summary(model, paper)
    if asked.docs is None:
        print("\n\n".join(parts.values()))
        return
    for number, one in enumerate(STAYS, start=1):
        pictures = {f"stay-{number}.png": model, f"stay-{number}-paper.png": paper}
        for name, made in pictures.items():
            save_small(made.explain(one.diagnoses), asked.docs / "pictures" / name)
    document = asked.docs / "examples.md"
    write_text(document, regenerated(document.read_text(encoding="utf-8"), parts))


if __name__ == "__main__":
    main()
