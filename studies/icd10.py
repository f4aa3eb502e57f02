"""What does a question in ICD-10 cost? How many diagnoses are mapped, by which way, and what becomes of the answers.

Run: python studies/icd10.py nhds2010.parquet nhds2010-icd10.parquet --maps MAPS --mimic4 mimic-iv-demo
The cohorts are those that the two models of the package learned from; experiments/*.toml say how they are made. The
test stays of each model are asked twice, from their diagnoses alone: in ICD-9-CM, as coded, and in ICD-10-CM, each
diagnosis replaced by the one that the reverse map gives (of several, the first whose own map leads back, as a coder
would choose it; else the first). So both ways of the map are in what is lost. With --maps, fifteen everyday stays are
asked in both versions: does the first procedure stay the same? The same is asked of validation stays of nhds2010: in
ICD-9-CM and, where all diagnoses lead back, in ICD-10-CM. With --mimic4, real ICD-10 stays are counted. Prints
Markdown; docs/icd10.md has the numbers.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dx2px import Cohort, Model
from dx2px.answers.mapping import map_codes, rewritten
from dx2px.codes import System, dotted, split, title
from dx2px.cohort import Split
from dx2px.cohort.translation import PcsMap
from dx2px.scoring.measured import learning_part, validation_fold

TOP = 5
STAYS = {
    "hip fracture": ("820.21", "S72.141A"),
    "delivery": ("650 V27.0", "O80 Z37.0"),
    "repeat caesarean": ("654.21 V27.0", "O34.211 Z37.0 Z3A.39"),
    "newborn": ("V30.00 V05.3", "Z38.00 Z23"),
    "STEMI": ("410.41 414.01 401.9", "I21.19 I25.10 I10"),
    "appendicitis": ("540.9", "K35.80"),
    "sepsis": ("038.9 995.92 785.52 518.81", "A41.9 R65.21 J96.01"),
    "ESRD": ("585.6", "N18.6"),
    "stroke": ("434.91", "I63.9"),
    "alcohol withdrawal": ("291.81", "F10.239"),
    "knee arthrosis": ("715.36", "M17.11"),
    "cholecystitis": ("574.00", "K80.00"),
    "GI bleed": ("578.9", "K92.2"),
    "schizophrenia": ("295.30", "F20.0"),
    "chemotherapy": ("V58.11", "Z51.11"),
}


def reversed_code(code: str) -> str | None:
    """The ICD-10-CM code that the map gives for an ICD-9-CM one: of several, the first that leads back."""
    found = rewritten(code)
    return None if found == code else found


def ways(model: Model, codes: Sequence[str]) -> Counter[str]:
    """How diagnoses of the other version are read: by kind of map, and what the model makes of the target."""
    _, mapping = map_codes(codes, model.diagnoses, model.files.diagnosis_counts)
    kinds = {one.code: one for one in mapping}
    counts: Counter[str] = Counter()
    for code in codes:
        one = kinds[code]
        found = [model.diagnoses.find(target) for target in one.to]
        counts[one.kind] += 1
        counts["stand-in"] += any(each.status == "backed-off" for each in found)
        counts["lost"] += all(each.status == "unknown" for each in found)
    return counts


def f1(model: Model, codes: Sequence[str], truth: set[str]) -> float:
    """F1 of the best procedures for some diagnoses."""
    found = {one.code for one in model.recommend(codes, TOP).recommendations}
    return 200 * len(found & truth) / (len(found) + len(truth))


def tested(model: Model, cohort: Cohort, most: int) -> Iterator[tuple[list[str], set[str]]]:
    """Diagnoses and procedures of test stays, drawn with a fixed seed."""
    part = learning_part(model.files, cohort, "test")
    chosen = np.sort(np.random.default_rng(0).permutation(len(part))[:most])
    for place in chosen.tolist():
        yield (
            [part.diagnosis_vocabulary[one] for one in part.diagnoses[place].tolist()],
            {part.procedure_vocabulary[one] for one in part.procedures[place].tolist()},
        )


def cost(name: str, cohort: Path, most: int) -> list[str]:
    """One line of the table: what asking in ICD-10 costs a model."""
    model, counts, scores, same = Model.load(name), Counter[str](), [], 0
    for codes, truth in tested(model, Cohort.load(cohort), most):
        asked = [code for code in map(reversed_code, codes) if code]
        counts["without a code"] += len(codes) - len(asked)
        counts += ways(model, asked)
        back, _ = map_codes(asked, model.diagnoses, model.files.diagnosis_counts)
        same += len({one.code for one in back} & set(codes))
        counts["codes"] += len(codes)
        scores.append((f1(model, codes, truth), f1(model, asked, truth) if asked else 0.0))
    own, other = np.array(scores).T
    gain = other - own
    share = {key: f"{value / counts['codes']:.1%}" for key, value in counts.items()}
    kinds = [share.get(kind, "0") for kind in ("exact", "approximate", "parent", "stand-in", "lost")]
    interval = 1.96 * gain.std() / len(gain) ** 0.5
    recovered = f"{same / counts['codes']:.1%}"
    rates = [f"{own.mean():.2f}", f"{other.mean():.2f}", f"{gain.mean():+.2f} ± {interval:.2f}"]
    return [name, f"{len(scores):,}", f"{counts['codes']:,}", *kinds, recovered, *rates]


def everyday(maps: PcsMap) -> Iterator[list[str]]:
    """The first procedure of each everyday stay, asked in both versions."""
    nine, ten = Model.load(answer_in="icd9pcs"), Model.load(answer_in="icd10pcs")
    for name, (old, new) in STAYS.items():
        first = nine.recommend(old.split(), 1).recommendations[0].code
        second = ten.recommend(new.split(), 1).recommendations[0]
        same = "yes" if second.code in (maps.families(first) or ()) else "no"
        yield [
            name,
            old,
            f"{dotted(first)} {title(first).text}",
            new,
            f"`{dotted(second.code)}` {second.title}",
            same,
        ]


def agreement(maps: PcsMap, cohort: Cohort, most: int) -> list[str]:
    """How often both models of the package have the same first procedure, on validation stays of the first."""
    nine, ten = Model.load(answer_in="icd9pcs"), Model.load(answer_in="icd10pcs")
    assert nine.files.split is not None
    held_out = Split.from_bytes(nine.files.split).validation(validation_fold(nine.files))
    own, back = [], []
    for stay in cohort.subset(held_out[:most]):
        families = maps.families(nine.recommend(stay.diagnoses, 1).recommendations[0].code)
        if not families:
            continue  # ICD-10-PCS has no such procedure
        own.append(ten.recommend(stay.diagnoses, 1).recommendations[0].code in families)
        asked = [code for code in map(reversed_code, stay.diagnoses) if code]
        read, _ = map_codes(asked, ten.diagnoses, ten.files.diagnosis_counts)
        if {one.code for one in read} == set(stay.diagnoses):
            back.append(ten.recommend(asked, 1).recommendations[0].code in families)
    return [f"{len(own):,}", f"{np.mean(own):.1%}", f"{len(back):,}", f"{np.mean(back):.1%}"]


def mimic(folder: Path) -> Iterator[list[str]]:
    """How the ICD-10 diagnoses of MIMIC-IV stays with both kinds of code are read."""
    import tempfile

    from dx2px import SourceOptions, prepare

    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "C.parquet"
        prepare("mimic4", folder, out, options=SourceOptions(icd="10"))
        stays = Cohort.load(out)
    codes = [stays.diagnosis_vocabulary[one] for one in stays.diagnoses.values.tolist()]
    assert {split(code)[0] for code in codes} == {System.ICD10CM}
    counts = ways(Model.load(), codes)
    kinds = ("exact", "approximate", "parent", "no-map", "not-listed", "stand-in", "lost")
    yield [f"{len(stays)}", f"{len(codes):,}", *(f"{counts[kind]:,}" for kind in kinds)]


def table(head: Sequence[str], rows: Iterator[list[str]] | list[list[str]]) -> None:
    lines = [list(head), ["---"] * len(head), *rows]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines), end="\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nine", type=Path, help="the cohort of nhds2010")
    parser.add_argument("ten", type=Path, help="the cohort of nhds2010-icd10")
    parser.add_argument("--maps", type=Path, help="CMS's maps of procedures")
    parser.add_argument("--mimic4", type=Path, help="the MIMIC-IV demo, or MIMIC-IV")
    parser.add_argument("--stays", type=int, default=20_000, help="test stays to ask, at most")
    told = parser.parse_args()
    if told.mimic4:
        head = [
            "stays",
            "diagnoses",
            "exact",
            "approximate",
            "parent",
            "no map",
            "not listed",
            "stand-in",
            "lost",
        ]
        table(head, mimic(told.mimic4))
    if told.maps:
        head = ["stay", "ICD-9-CM", "first procedure", "ICD-10-CM", "first procedure", "same"]
        table(head, everyday(PcsMap.read(told.maps)))
        head = [
            "validation stays",
            "same first procedure",
            "all diagnoses lead back",
            "same, asked in ICD-10",
        ]
        table(head, [agreement(PcsMap.read(told.maps), Cohort.load(told.nine), told.stays)])
    head = ["model", "test stays", "diagnoses", "exact", "approximate", "parent", "stand-in", "lost"]
    head += ["back at the same code", "F1@5, ICD-9", "F1@5, ICD-10", "difference"]
    table(head, [cost("nhds2010", told.nine, told.stays), cost("nhds2010-icd10", told.ten, told.stays)])


if __name__ == "__main__":
    main()
