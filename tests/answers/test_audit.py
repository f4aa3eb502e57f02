"""Audits: planted mistakes are found, of every kind, and one stay, a stream and a file tell the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dx2px.answers.population as population
from dx2px import AuditSettings, audit_batches, audit_file, audit_stay
from dx2px.answers import Model
from dx2px.answers.audit import LEAST_SHARE
from dx2px.answers.audit_file import check_findings_path
from dx2px.answers.audit_stream import audited_blocks
from dx2px.answers.defects import ABSENT, KINDS, Kind, omitted_strength
from dx2px.answers.flagging import Flagger
from dx2px.answers.question import asked_of
from dx2px.answers.questions import Questions
from dx2px.errors import CodeError, InputError, ModelError, OtherVersionError
from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.methods import METHODS
from synthetic_models import CLOSED, ECHO, HEART, HIP, OPEN, TRANSFUSION, beside_files, partly_learned

TEXTS = pa.list_(pa.string())
LOOSE = AuditSettings(precision=0.02, wrong=0.2, omitted=0.2, kinds=KINDS)
# Steep, so that probabilities reach both ends and there are findings of both kinds.
CALIBRATION = Calibration(
    centred=True,
    first=Curve(np.array([-9.0, -2.0, 0.0]), np.array([-7.0, -1.0, 2.0])),
    weights=np.array([1.0, 0.2, 0.1, -0.3]),
    second=Curve(np.array([-6.0, 4.0]), np.array([-9.0, 6.0])),
    coverages=np.array([0.9]),
    thresholds=np.array([0.1]),
)
CLEAR = AuditSettings(precision=0.5, kinds=("unsupported", "omitted"))


@pytest.fixture
def knowing() -> Model:
    """A model that takes coded procedures as evidence."""
    return Model(beside_files())


def random_model(method: str) -> Model:
    return Model(partly_learned(method, procedure_counts=tuple(range(0, 300, 10)), calibration=CALIBRATION))


def random_stays(stays: int) -> pa.RecordBatch:
    """Known, backed-off and unknown codes, typed in several ways, some twice; empty and missing lists."""
    rng = np.random.default_rng(1)

    def diagnosis() -> str:
        if rng.random() < 0.03:
            return str(rng.choice(["nonsense", "icd10cm:I509", ""]))
        code = str(rng.integers(4000, 4480) if rng.random() < 0.1 else 4000 + 4 * rng.integers(0, 120))
        return str(rng.choice([f"icd9cm:{code}", code, f" {code[:3]}.{code[3]} "]))

    def procedure() -> str:
        return "99.99" if rng.random() < 0.05 else f"30{rng.choice(['', '.'])}{rng.integers(0, 30):02}"

    def several(one: Any, most: int) -> list[str] | None:
        return None if rng.random() < 0.02 else [one() for _ in range(rng.integers(0, most))]

    rows = [(several(diagnosis, 9), several(procedure, 5)) for _ in range(stays)]
    return batch([dx for dx, _ in rows], [px for _, px in rows])


def batch(diagnoses: Sequence[Any], procedures: Sequence[Any]) -> pa.RecordBatch:
    ids = pa.array([f"s{place}" for place in range(len(diagnoses))])
    return pa.record_batch(
        {"procedures": pa.array(procedures, TEXTS), "stay_id": ids, "diagnoses": pa.array(diagnoses, TEXTS)}
    )


def beside_stays(stays: int) -> pa.RecordBatch:
    """Codes of `beside_files`, one that is backed off, and one of the other ICD version."""
    rng = np.random.default_rng(3)
    codes = (HIP, HEART, "icd9cm:82020", "I50.1"), (OPEN, CLOSED, ECHO, TRANSFUSION)
    diagnoses, procedures = (
        [rng.choice(some, rng.integers(1, 4), replace=False).tolist() for _ in range(stays)] for some in codes
    )
    return batch(diagnoses, procedures)


def cut(whole: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    return (whole.slice(start, rows) for start in range(0, len(whole), rows))


def findings(batches: Any, model: Model, settings: AuditSettings, **more: Any) -> pa.Table:
    return pa.Table.from_batches(audit_batches(model, batches, settings, **more)).combine_chunks()


def told_of(one: dict[str, Any]) -> list[dict[str, Any]]:
    """A stay's audit as rows of a stream."""
    return [{"stay_id": one["id"], **finding} for finding in one["findings"]]


def test_planted_mistakes_of_one_stay(model: Model) -> None:
    """4280 goes with 3722: it is expected where it is absent, and 3995 is odd beside it."""
    found = audit_stay(model, ["428.0", "V70.0"], ["39.95", "99.99"], CLEAR, id="a").to_dict()
    assert found["id"] == "a"
    (expected,) = (one for one in found["findings"] if one["kind"] == "omitted")
    assert (expected["code"], expected["other"], expected["suggested"]) == ("icd9pcs:3722", None, [])
    assert found["unknown"] == ["icd9cm:V700", "icd9pcs:9999"]
    assert expected["rank"] == 1
    assert expected["because"] == [{"code": "icd9cm:4280", "share": 1.0}]
    asked = model.recommend(["428.0"], 4)
    assert expected["probability"] == pytest.approx(asked.recommendations[0].probability)
    assert audit_stay(model, ["428.0"], ["37.22"], CLEAR).of_kind("omitted") == ()


def test_an_odd_procedure_is_found_and_a_usual_one_is_not() -> None:
    model = random_model("coupling")
    ranked = [one.code for one in model.recommend(["4000", "4004"], 30).recommendations]
    settings = AuditSettings(precision=0.01, wrong=0.5)
    found = audit_stay(model, ["4000", "4004"], [ranked[0], ranked[-1]], settings)
    (odd,) = found.of_kind("unsupported")
    assert (odd.code, odd.rank) == (ranked[-1], 30)
    assert {reason.code for reason in odd.because} == {"icd9cm:4000", "icd9cm:4004"}


def test_findings_are_the_procedures_whose_strength_reaches_the_precision() -> None:
    model = random_model("coupling")
    flagger = Flagger(model, LOOSE)
    rows, coded = Ragged.from_lists([[0, 4], [7], [2, 9, 11]]), Ragged.from_lists([[1, 2], [], [29]])
    asked = Questions.of(model.scorer, rows, coded)
    every = flagger.judged(asked, 1e-12)
    absent = every.take(every.is_kind("omitted"))
    assert len(absent) == 3 * 30 - 3
    P = CALIBRATION.probability(model.scorer.scores(rows))
    np.testing.assert_array_equal(absent.probability, P[absent.stay, absent.procedure])
    np.testing.assert_allclose(absent.strength, omitted_strength(absent.probability, LOOSE.omitted))
    assert {kind: int(every.is_kind(kind).sum()) for kind in ("unsupported", "swap", "diagnosis")} == {
        "unsupported": 3,
        "swap": 0,  # this model knows no alternatives
        "diagnosis": 3,
    }
    found = flagger.flag(model.scorer, rows, coded).found
    assert 0 < len(found) < len(every)
    assert found.strength.min() >= LOOSE.precision


def kinds_of(model: Model, procedures: list[str]) -> dict[str, tuple[str, str | None]]:
    """The findings of a stay with a hip fracture: by code, its kind and the other procedure."""
    settings = AuditSettings(precision=0.2, wrong=0.3, omitted=0.3, kinds=KINDS)
    found = audit_stay(model, [HIP], procedures, settings)
    return {one.code: (one.kind, one.other) for one in found.findings}


def test_each_question_is_asked_given_everything_else(knowing: Model) -> None:
    """The same procedure is expected, odd or unexplained, as its stay has it; `beside_files` says why."""
    swap = {CLOSED: ("swap", OPEN)}
    assert kinds_of(knowing, [OPEN]) == swap | {TRANSFUSION: ("companion", OPEN)}
    assert kinds_of(knowing, [CLOSED]) == {}
    assert kinds_of(knowing, [CLOSED, TRANSFUSION]) == {TRANSFUSION: ("unsupported", None)}
    assert kinds_of(knowing, [OPEN, TRANSFUSION]) == swap | {TRANSFUSION: ("diagnosis", None)}
    assert kinds_of(knowing, [CLOSED, ECHO]) == {ECHO: ("unsupported", None)}
    both = kinds_of(knowing, [OPEN, CLOSED, TRANSFUSION])
    assert both[OPEN] == both[CLOSED] == ("unsupported", None)
    assert set(kinds_of(knowing, [])) == {CLOSED, OPEN}


@pytest.mark.parametrize(("kind", "wrong"), [("unsupported", 0.9), ("diagnosis", 1e-12)])
def test_a_coded_procedure_is_judged_by_the_stay_without_it(knowing: Model, kind: Kind, wrong: float) -> None:
    """Two routes: what the audit says, and the probability with the others shown."""
    settings = AuditSettings(precision=1e-9, wrong=wrong, kinds=(kind,))
    found = audit_stay(knowing, [HIP, HEART], [OPEN, ECHO], settings, age=80).findings
    assert {one.code for one in found} == {OPEN, ECHO}
    calibration = knowing.files.calibration
    assert calibration is not None
    for one in found:
        (shown,) = {OPEN, ECHO} - {one.code}
        used = knowing.diagnoses.find_all([HIP, HEART])
        rows, scorer, _ = knowing.rows_of(used, knowing.told({"age": 80, "coded": [shown]}))
        scores, place = scorer.scores(rows), knowing.procedures.vocabulary.index(one.code)
        assert one.probability == pytest.approx(calibration.given_rest(scores)[0, place], rel=1e-5)
        assert one.rank == 1 + (scores[0] > scores[0, place]).sum()


def test_a_procedure_without_its_diagnosis_is_told_what_usually_explains_it(model: Model) -> None:
    """25000 goes with 3995: coded with 4280 alone, nothing explains it."""
    settings = AuditSettings(precision=0.05, wrong=0.01, omitted=0.5, kinds=("unsupported", "diagnosis"))
    (found,) = audit_stay(model, ["428.0"], ["39.95"], settings).findings
    assert (found.kind, found.code, found.other) == ("diagnosis", "icd9pcs:3995", None)
    assert found.suggested[0].code == "icd9cm:25000"
    assert "icd9cm:4280" not in [one.code for one in found.suggested]
    assert not audit_stay(model, ["428.0", "250.00"], ["39.95"], settings).findings
    # A procedure that nothing at all supports is unsupported, and said once.
    loud = replace(settings, wrong=0.5)
    assert [one.kind for one in audit_stay(model, ["428.0"], ["39.95"], loud).findings] == ["unsupported"]


def test_only_the_wanted_kinds_are_told(knowing: Model) -> None:
    coded = [[OPEN], [CLOSED, TRANSFUSION], [OPEN, TRANSFUSION], []]
    stays = batch([[HIP], [HIP], [HIP], [HEART]], coded)
    every = findings([stays], knowing, LOOSE).to_pylist()
    assert {row["kind"] for row in every} == set(KINDS)
    for kind in KINDS:
        some = findings([stays], knowing, replace(LOOSE, kinds=(kind,))).to_pylist()
        assert some == [row for row in every if row["kind"] == kind]


def test_each_finding_has_the_whole_stay(model: Model) -> None:
    stay = batch([["428.0", "V70.0", "4280", None]], [["39.95", "nonsense", "99.99"]])
    for row in findings([stay], model, LOOSE).to_pylist():
        assert row["diagnoses"] == ["icd9cm:4280", "icd9cm:V700"]
        assert row["procedures"] == ["icd9pcs:3995", "nonsense", "icd9pcs:9999"]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_one_stay_and_a_stream_find_the_same(method: str) -> None:
    same_alone_and_in_a_stream(random_model(method), random_stays(60))


def test_one_stay_and_a_stream_find_the_same_with_coded_procedures(knowing: Model) -> None:
    same_alone_and_in_a_stream(knowing, beside_stays(60))


def same_alone_and_in_a_stream(
    model: Model, stays: pa.RecordBatch, settings: AuditSettings = LOOSE, least: int = 20
) -> None:
    rows = findings([stays], model, settings, threads=1).to_pylist()
    expected = [
        row
        for stay in stays.to_pylist()
        for row in told_of(
            audit_stay(
                model, stay["diagnoses"] or [], stay["procedures"] or [], settings, id=stay["stay_id"]
            ).to_dict()
        )
    ]
    assert len(rows) >= least
    assert [_key(row) for row in rows] == [_key(row) for row in expected]
    for row, other in zip(rows, expected, strict=True):
        for name in ("strength", "probability"):
            assert row[name] == pytest.approx(other[name], rel=1e-3)
        for name in ("because", "suggested"):
            shares = [one["share"] for one in other[name]]
            assert [one["share"] for one in row[name]] == pytest.approx(shares, abs=1e-3)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("stay_id", "kind", "code", "title", "other", "rank"))


def test_reasons_are_those_of_a_recommendation() -> None:
    """Two routes to the shares: the column of the coupling, and what `recommend` tells."""
    model = random_model("coupling")
    codes = ["4000", "4004", "4001", "4100"]
    settings = AuditSettings(precision=1e-12, wrong=0.9, omitted=0.9)
    found = audit_stay(model, codes, [], settings).of_kind("omitted")
    asked = {one.code: one for one in model.recommend(codes, 30).recommendations}
    assert len(found) == 30
    for one in found:
        assert one.rank == asked[one.code].rank
        because = [r for r in asked[one.code].because[:3] if r.share >= LEAST_SHARE]
        assert [reason.code for reason in one.because] == [reason.code for reason in because]
        shares = [reason.share for reason in because]
        assert [reason.share for reason in one.because] == pytest.approx(shares, abs=1e-6)


@pytest.mark.parametrize("method", ["coupling", "e+sa+ma", "mlp", "beside"])
def test_batch_sizes_and_threads_change_no_bit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(population, "STAYS", 400)
    beside = method == "beside"
    model = Model(beside_files()) if beside else random_model(method)
    whole = beside_stays(900) if beside else random_stays(900)
    expected = findings([whole], model, LOOSE, threads=1)
    for rows in (1, 7, 400, 5000):
        assert findings(cut(whole, rows), model, LOOSE, threads=1).equals(expected)
    assert findings(cut(whole, 399), model, LOOSE, threads=3).equals(expected)


def test_everything_is_counted() -> None:
    model, stays = random_model("linear"), random_stays(300)
    (block,) = audited_blocks(model, [stays], LOOSE, threads=1)
    rows = stays.to_pylist()
    asked = [asked_of(model, row["diagnoses"] or [], True, {})[0] for row in rows]
    coded = [model.procedures.find_all(row["procedures"] or []) for row in rows]
    statuses = [[found.status for found in one] for one in asked]
    counts = block.counts
    assert counts.stays == 300
    assert counts.mapping == {"approximate": sum("icd10cm:I509" in (row["diagnoses"] or []) for row in rows)}
    assert counts.stays_without_answer == sum(set(one) <= {"unknown"} for one in statuses) > 0
    assert counts.unknown_diagnoses == sum(one.count("unknown") for one in statuses) > 0
    assert counts.backed_off_diagnoses == sum(one.count("backed-off") for one in statuses) > 0
    assert counts.unknown_procedures == sum(f.status == "unknown" for one in coded for f in one) > 0
    found = block.findings.to_pylist()
    assert counts.stays_with_findings == len({row["stay_id"] for row in found})
    assert counts.by_kind == {kind: sum(row["kind"] == kind for row in found) for kind in KINDS}
    assert counts.findings == len(found)
    assert min(counts.by_kind[kind] for kind in ("unsupported", "omitted", "diagnosis")) > 0


FAMILIES = ("icd10pcs:0QS[67]XZZ", "icd10pcs:0QS[67]0", "icd10pcs:B24", "icd10pcs:302")  # for those of ICD-9


def in_families(**changes: Any) -> Model:
    """The model of `knowing`, with ICD-10-PCS families for its procedures."""
    return Model(replace(beside_files(), **{"procedures": FAMILIES, **changes}))


def test_stays_in_icd_10_are_audited_as_in_icd_9_and_named_as_they_were_coded(knowing: Model) -> None:
    model = in_families()
    nine = audit_stay(knowing, [HIP, HEART], [OPEN], LOOSE)
    ten = audit_stay(model, ["S72.141A", "I50.9"], ["0QS604Z"], LOOSE)
    family = dict(zip(knowing.files.procedures, FAMILIES, strict=True))
    coded = {HIP: "icd10cm:S72141A", HEART: "icd10cm:I509", **family}
    assert [(one.kind, one.code, one.strength) for one in ten.findings] == [
        (one.kind, family[one.code], one.strength) for one in nine.findings
    ]
    assert FAMILIES[1] not in {one.code for one in ten.findings if one.kind in ABSENT}
    for one, other in zip(ten.findings, nine.findings, strict=True):
        assert [r.code for r in one.because] == [coded.get(r.code, r.code) for r in other.because]
    assert [one.kind for one in ten.mapping] == ["approximate", "approximate"]
    stay = batch([["S72.141A", "I50.9"]], [["0QS604Z"]])
    same_alone_and_in_a_stream(model, stay, least=3)
    (block,) = audited_blocks(model, [stay], LOOSE, threads=1)
    assert (block.counts.mapping, block.counts.unknown_procedures) == ({"approximate": 2}, 0)
    row = block.findings.to_pylist()[0]
    assert (row["diagnoses"], row["procedures"]) == (
        ["icd10cm:S72141A", "icd10cm:I509"],
        ["icd10pcs:0QS604Z"],
    )


def test_a_diagnosis_that_several_replaced_has_their_shares_together() -> None:
    """Septic shock is 785.52 and 995.92."""
    model = Model(replace(beside_files(), diagnoses=("icd9cm:78552", "icd9cm:99592")))
    nine, ten = (audit_stay(model, codes, [], LOOSE) for codes in (["785.52", "995.92"], ["R65.21"]))
    for one, other in zip(nine.findings, ten.findings, strict=True):
        shares = {reason.code: reason.share for reason in one.because}
        both = shares.pop("icd9cm:78552", 0.0) + shares.pop("icd9cm:99592", 0.0)
        expected = shares | {"icd10cm:R6521": pytest.approx(both, abs=LEAST_SHARE)}
        assert {reason.code: reason.share for reason in other.because} == expected


def test_a_family_that_holds_a_coded_procedure_is_not_omitted_though_another_counts_for_it() -> None:
    """0QS604Z is in both families of reductions; it counts as the frequent one, and the other excludes nothing."""
    both = ("icd10pcs:0QS6", "icd10pcs:0QS[67]0", *FAMILIES[2:])
    model = in_families(procedures=both, procedure_counts=(10, 20, 10, 10))
    everything = replace(LOOSE, precision=0.001)
    assert both[0] in {one.code for one in audit_stay(model, [HIP], ["0QS704Z"], everything).findings}
    stay = batch([[HIP]], [["0QS604Z"]])
    absent = [row for row in findings([stay], model, everything).to_pylist() if row["kind"] in ABSENT]
    assert {row["code"] for row in absent} == {both[3]}
    same_alone_and_in_a_stream(model, stay, everything, least=1)


def test_procedures_of_another_version_alone_are_not_audited(knowing: Model) -> None:
    """Else everything that is usual would be omitted."""
    alone = audit_stay(knowing, ["S72.141A"], ["0QS604Z"], LOOSE)
    assert (alone.findings, alone.unknown, alone.to_dict()["audited"]) == ((), ("icd10pcs:0QS604Z",), False)
    (block,) = audited_blocks(knowing, [batch([[HIP], [HIP]], [["0QS604Z"], [ECHO]])], LOOSE, threads=1)
    assert block.counts.stays_with_other_procedures == 1
    assert {row["stay_id"] for row in block.findings.to_pylist()} == {"s1"}


def test_translation_can_be_refused(knowing: Model) -> None:
    with pytest.raises(OtherVersionError, match="knows ICD-9-CM"):
        audit_stay(knowing, ["I50.9"], [], map=False)
    with pytest.raises(OtherVersionError, match="knows ICD-9-CM diagnoses, and stays have others"):
        findings([batch([["I50.9"]], [[]])], knowing, LOOSE, map=False)
    assert findings([batch([[HIP]], [[]])], knowing, LOOSE, map=False).num_rows


def test_suggested_diagnoses_are_of_the_version_that_the_stay_is_coded_in(knowing: Model) -> None:
    """An echocardiogram goes with a weak heart: coded with a broken hip alone, nothing explains it."""
    settings = AuditSettings(precision=0.05, omitted=0.5, wrong=0.0001, kinds=("diagnosis",))
    nine, ten = (audit_stay(knowing, [code], [ECHO], settings).findings[0] for code in (HIP, "S72.141A"))
    assert [one.code for one in nine.suggested] == [HEART]
    assert [one.code for one in ten.suggested] == ["icd10cm:I509"]
    assert ten.suggested[0].share == nine.suggested[0].share


def test_a_coded_procedure_is_never_omitted_nor_an_absent_one_unsupported() -> None:
    model, stays = random_model("coupling"), random_stays(200)
    coded = {
        row["stay_id"]: {found.code for found in model.procedures.find_all(row["procedures"] or [])}
        for row in stays.to_pylist()
    }
    for row in findings([stays], model, LOOSE).to_pylist():
        assert (row["code"] in coded[row["stay_id"]]) == (row["kind"] in ("unsupported", "diagnosis"))
        assert row["strength"] >= LOOSE.precision


def test_nothing_usable_finds_nothing(model: Model) -> None:
    assert audit_stay(model, [], ["37.22"]).to_dict() == {
        "id": None,
        "findings": [],
        "unknown": [],
    }
    assert audit_stay(model, ["V99"], []).unknown == ("icd10cm:V99",)
    empty = batch([None, [], ["nonsense"]], [["37.22"], None, []])
    assert findings([empty], model, CLEAR).num_rows == 0
    assert list(audit_batches(model, [])) == []


def test_a_text_of_several_codes_is_refused_alone_and_set_aside_in_a_stream(model: Model) -> None:
    with pytest.raises(CodeError, match="write it with its system"):
        audit_stay(model, ["E030"], [])
    found = findings([batch([["E030", "428.0"]], [[]])], model, CLEAR).to_pylist()
    assert [one["because"][0]["code"] for one in found] == ["icd9cm:4280"]


def test_a_model_without_calibration_is_refused(model: Model) -> None:
    bare = Model(replace(model.files, calibration=None))
    with pytest.raises(ModelError, match="has no calibration"):
        audit_stay(bare, ["428.0"], [])


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    pq.write_table(pa.Table.from_batches([random_stays(700)]), tmp_path / "C.parquet", row_group_size=150)
    return tmp_path / "C.parquet"


def test_a_file_keeps_the_strongest_sorted_and_counts_the_rest(
    stays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(population, "STAYS", 100)
    model = random_model("coupling")
    everything = findings(cut(random_stays(700), 100), model, LOOSE)
    order = np.argsort(-everything.column("strength").to_numpy(), kind="stable")
    whole = audit_file(model, stays, LOOSE)
    assert whole.left_out == 0
    assert whole.findings.equals(everything.take(pa.array(order)))
    for limit in ({"most": 13}, {"per_100": 3}):
        best = audit_file(model, stays, LOOSE, **limit)  # type: ignore[arg-type]
        assert best.counts == whole.counts
        assert best.findings.equals(whole.findings.slice(0, 13 if "most" in limit else 21))
        assert best.left_out == whole.findings.num_rows - best.findings.num_rows
        assert best.groups() == whole.groups()


def test_groups_count_all_findings_of_a_kind_and_a_procedure(
    stays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(population, "STAYS", 100)
    found = audit_file(random_model("coupling"), stays, LOOSE)
    expected: dict[tuple[str, str], list[float]] = {}
    for row in found.findings.to_pylist():
        expected.setdefault((row["kind"], row["code"]), []).append(row["probability"])
    groups = found.groups()
    assert {(one.kind, one.code): one.stays for one in groups} == {k: len(v) for k, v in expected.items()}
    assert [one.stays for one in groups] == sorted((one.stays for one in groups), reverse=True)
    for one in groups:
        assert one.probability == pytest.approx(np.mean(expected[one.kind, one.code]))


def test_memory_does_not_grow_with_the_findings(stays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many findings pass by, few more than the limit are ever held."""
    import dx2px.answers.audit_file as audit_file_module

    monkeypatch.setattr(population, "STAYS", 50)
    held: list[int] = []
    add = audit_file_module._Strongest.add

    def watched(self: Any, found: pa.RecordBatch) -> None:
        add(self, found)
        held.append(self.kept.num_rows)

    monkeypatch.setattr(audit_file_module._Strongest, "add", watched)
    found = audit_file(random_model("coupling"), stays, replace(LOOSE, precision=0.001), most=10)
    assert found.counts.findings > 2000
    assert max(held) <= 2 * 10 + 1000


def test_parquet_and_csv_hold_the_same(stays: Path, tmp_path: Path) -> None:
    found = audit_file(random_model("coupling"), stays, LOOSE, per_100=5)
    found.save(tmp_path / "A.parquet")
    found.save(tmp_path / "A.csv")
    table = pq.read_table(tmp_path / "A.parquet")
    assert table.replace_schema_metadata(None).equals(found.findings)
    record = json.loads(table.schema.metadata[b"dx2px"])
    assert record["counts"] == found.counts.to_dict()
    assert record["settings"]["precision"] == LOOSE.precision
    assert sum(group["stays"] for group in record["groups"]) == found.counts.findings
    text = pyarrow.csv.read_csv(tmp_path / "A.csv")
    assert text.column_names == table.column_names
    assert text.column("code").to_pylist() == table.column("code").to_pylist()
    first = table.column("because").to_pylist()[0]
    told = "; ".join(f"{one['code']} {one['share']:.0%}" for one in first)
    assert text.column("because").to_pylist()[0] == told
    for name in ("diagnoses", "procedures"):
        listed = [row or "" for row in text.column(name).to_pylist()]
        assert listed == ["; ".join(codes) for codes in table.column(name).to_pylist()]


def test_ids_that_a_spreadsheet_would_run_are_made_harmless_in_csv_alone(tmp_path: Path) -> None:
    ids = ['=HYPERLINK("x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "'plain", "7"]
    stays = random_stays(5 * len(ids))
    stays = stays.set_column(stays.schema.get_field_index("stay_id"), "stay_id", pa.array(5 * ids))
    pq.write_table(pa.Table.from_batches([stays]), tmp_path / "C.parquet")
    found = audit_file(random_model("coupling"), tmp_path / "C.parquet", replace(LOOSE, precision=0.0001))
    found.save(tmp_path / "A.parquet")
    found.save(tmp_path / "A.csv")
    kept = pq.read_table(tmp_path / "A.parquet").column("stay_id").to_pylist()
    assert set(kept) == set(ids)
    with (tmp_path / "A.csv").open(newline="", encoding="utf-8") as stream:
        written = [row["stay_id"] for row in csv.DictReader(stream)]
    harmless = {one: one if one in ("'plain", "7") else f"'{one}" for one in ids}
    assert written == [harmless[one] for one in kept]
    assert found.formula_ids == sum(harmless[one] != one for one in kept)


def test_no_findings_make_an_empty_file(tmp_path: Path, model: Model) -> None:
    pq.write_table(pa.Table.from_batches([batch([["428.0"]], [["37.22"]])]), tmp_path / "C.parquet")
    found = audit_file(model, tmp_path / "C.parquet", AuditSettings(precision=0.99))
    found.save(tmp_path / "A.parquet")
    assert pq.read_table(tmp_path / "A.parquet").num_rows == 0


def test_wrong_files_and_names_are_said(stays: Path, tmp_path: Path, model: Model) -> None:
    pq.write_table(pa.table({"stay_id": ["1"], "diagnoses": [["4280"]]}), tmp_path / "D.parquet")
    with pytest.raises(InputError, match="one column procedures"):
        audit_file(model, tmp_path / "D.parquet")
    pq.write_table(
        pa.table({"stay_id": ["1"], "diagnoses": [["4280"]], "procedures": [[3722]]}), tmp_path / "E.parquet"
    )
    with pytest.raises(InputError, match="The column procedures must hold lists of codes as text"):
        audit_file(model, tmp_path / "E.parquet")
    with pytest.raises(InputError, match=r"\.parquet or \.csv"):
        check_findings_path(tmp_path / "A.xlsx", stays)
    with pytest.raises(InputError, match="would replace the stays"):
        check_findings_path(stays, stays)
    with pytest.raises(InputError, match="must be above 0"):
        audit_file(model, stays, per_100=0)
    with pytest.raises(InputError, match="at least 1"):
        audit_file(model, stays, most=0)
