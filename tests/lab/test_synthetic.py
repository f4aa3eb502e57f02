"""Synthetic cohorts: their sizes, the truth planted in them, and its files."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dx2px.codes import title
from dx2px.cohort import Cohort
from dx2px.errors import CohortError, InputError
from dx2px.lab.synthetic import (
    PRESETS,
    SyntheticConfig,
    Truth,
    causes_path,
    generate,
    links_path,
    synthesize,
)
from dx2px.lab.synthetic.core import core_diagnoses, core_links, core_procedures
from dx2px.lab.synthetic.sense import ADMISSIONS, ONE_OF, kinds, named
from dx2px.lab.synthetic.stays import BLOCK
from dx2px.lab.synthetic.urn import Urns, stratified

SMALL = PRESETS["small"]
FEW = replace(SMALL, stays=2_000)


@pytest.fixture(scope="module")
def small() -> tuple[Cohort, Truth]:
    return generate(SMALL, seed=0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synthetic") / "c.parquet"
    synthesize(path, FEW, seed=5)
    return path


def lift(cohort: Cohort, truth: Truth) -> np.ndarray:
    x = np.zeros((len(cohort), len(cohort.diagnosis_vocabulary)), np.float32)
    y = np.zeros((len(cohort), len(cohort.procedure_vocabulary)), np.float32)
    x[cohort.diagnoses.row_of_entry, cohort.diagnoses.values] = 1
    y[cohort.procedures.row_of_entry, cohort.procedures.values] = 1
    ratio = x.T @ y * len(cohort) / np.outer(cohort.diagnosis_counts, cohort.procedure_counts)
    diagnoses = cohort.diagnoses.take(cohort.procedures.row_of_entry).values
    return ratio[diagnoses, np.repeat(cohort.procedures.values, np.diff(truth.offsets))]


def strengths(truth: Truth) -> dict[tuple[str | None, str], float]:
    rows = truth.links.to_pylist()
    return {(row["diagnosis"], row["procedure"]): row["strength"] for row in rows}


# Sizes


@pytest.mark.parametrize(
    ("preset", "stays", "diagnoses", "procedures", "least"),
    [
        ("small", 28_315, 247, 75, 500),
        ("medium", 30_535, 874, 258, 100),
        ("large", 31_213, 2_765, 819, 10),
    ],
)
@pytest.mark.parametrize("seed", [0, 3])
def test_preset_has_the_papers_size_and_least_count(
    preset: str, stays: int, diagnoses: int, procedures: int, least: int, seed: int
) -> None:
    cohort, _ = generate(PRESETS[preset], seed)
    assert len(cohort) == stays
    assert len(cohort.diagnosis_vocabulary) == diagnoses
    assert len(cohort.procedure_vocabulary) == procedures
    assert cohort.diagnosis_counts.min() >= least
    assert cohort.procedure_counts.min() >= least
    assert cohort.diagnoses.lengths.min() == 1
    assert 35 <= cohort.diagnoses.lengths.max() <= 41
    assert cohort.procedures.lengths.min() == 1
    assert 20 <= cohort.procedures.lengths.max() <= 40
    assert 10 <= cohort.diagnoses.lengths.mean() <= 13
    assert 4 <= cohort.procedures.lengths.mean() <= 5.2
    assert not cohort.diagnoses.has_repeats()
    assert not cohort.procedures.has_repeats()


def test_frequencies_have_a_long_tail(small: tuple[Cohort, Truth]) -> None:
    for counts in (small[0].diagnosis_counts, small[0].procedure_counts):
        ranked = np.sort(counts)[::-1]
        assert ranked[0] > 6 * np.median(ranked)
        assert ranked[: len(ranked) // 10].sum() > 0.3 * ranked.sum()


def test_patients_return_and_keep_chronic_diagnoses(small: tuple[Cohort, Truth]) -> None:
    cohort, truth = small
    assert cohort.patient_ids is not None
    assert cohort.context is not None
    patients = cohort.patient_ids.to_pylist()
    assert 1.1 < len(patients) / len(set(patients)) < 1.4
    chronic = {
        row["diagnosis"]
        for row in truth.links.to_pylist()
        if row["diagnosis"] is not None and not row["acute"]
    } | {"icd9cm:2724", "icd9cm:42731"}
    vocabulary = [code.partition(":")[2] for code in cohort.diagnosis_vocabulary]
    replaceable = {cohort.diagnosis_vocabulary[i] for i in np.flatnonzero(kinds(vocabulary) >= 0)}
    chronic -= replaceable
    again = [row for row in range(1, 5_000) if patients[row] == patients[row - 1]]
    assert len(again) > 300
    for row in again:
        before, after = (set(cohort.diagnoses_of(r)) for r in (row - 1, row))
        # A list full to the limit may have pushed a chronic diagnosis out.
        if max(len(before), len(after)) < 41:
            assert before & chronic == after & chronic
        assert cohort.context["age"][row] == cohort.context["age"][row - 1]
        assert cohort.context["sex"][row] == cohort.context["sex"][row - 1]


def test_persons_fit_their_codes(small: tuple[Cohort, Truth]) -> None:
    cohort, _ = small
    assert cohort.context is not None
    age, sex, admission, principal = (
        np.array(cohort.context[name].to_pylist()) for name in ("age", "sex", "admission", "principal")
    )

    def stays_with(code: str) -> np.ndarray:
        codes, words = (
            (cohort.diagnoses, cohort.diagnosis_vocabulary)
            if code.startswith("icd9cm")
            else (cohort.procedures, cohort.procedure_vocabulary)
        )
        return np.unique(codes.row_of_entry[codes.values == words.index(code)])

    for code in ("icd9cm:V270", "icd9cm:66411", "icd9pcs:6632", "icd9pcs:741"):
        assert set(sex[stays_with(code)]) == {"F"}
        assert age[stays_with(code)].max() < 50
    for code in ("icd9cm:V502", "icd9pcs:640"):
        assert set(sex[stays_with(code)]) == {"M"}
    for code in ("icd9cm:V3000", "icd9pcs:640", "icd9pcs:9983"):
        assert set(age[stays_with(code)]) == {0}
        assert set(admission[stays_with(code)]) == {"newborn"}
    assert age[stays_with("icd9cm:41401")].min() >= 35
    assert age[stays_with("icd9cm:65961")].min() >= 35  # an elderly multigravida
    assert not np.intersect1d(stays_with("icd9cm:V3000"), stays_with("icd9cm:41401")).size
    older, younger = (age[stays_with(f"icd9cm:{code}")].mean() for code in ("2948", "5409"))
    assert older > younger + 5
    assert set(admission) == set(ADMISSIONS)
    assert np.mean(admission[principal == "icd9cm:71536"] == "elective") > 0.8
    for row in range(0, len(cohort), 97):
        assert principal[row] in cohort.diagnoses_of(row)


def test_procedures_come_where_they_make_sense(small: tuple[Cohort, Truth]) -> None:
    """Unexplained ones, too: no newborn's tubal ligation, no dialysis of a mother in labor."""
    cohort, truth = small
    realm_of_code = {row["diagnosis"]: row["realm"] for row in truth.links.to_pylist() if row["diagnosis"]}
    possible: dict[str, set[str]] = {}
    for row in truth.links.to_pylist():
        if row["diagnosis"]:
            possible.setdefault(row["procedure"], set()).add(row["realm"])
    assert possible["icd9pcs:6632"] == {"delivery"}
    assert possible["icd9pcs:3995"] == {"adult"}
    for row in range(0, len(cohort), 7):
        [realm] = {realm_of_code[code] for code in cohort.diagnoses_of(row) if code in realm_of_code} or {
            None
        }
        assert all(realm in (None, *possible[code]) for code in cohort.procedures_of(row))


@pytest.mark.parametrize("preset", ["small", "large"])
def test_every_drawn_link_stands_in_the_table_of_sense(preset: str) -> None:
    """Read again here in the slow way: line by line, with nothing of the generator's matching."""

    def names(entries: str, code: str) -> bool:
        def begins(first: str, last: str) -> bool:
            pairs = zip(first, code, strict=False)
            dotted = len(code) >= len(first) and all(a in (".", b) for a, b in pairs)
            return dotted if first == last else first <= code[: len(first)] <= last

        return any(begins(*(one.split("-") * 2)[:2]) for one in entries.split())

    table = files("dx2px.lab.synthetic").joinpath("data", "fits.tsv").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in table.splitlines() if not line.startswith(("#", "use"))]
    _, truth = generate(replace(PRESETS[preset], stays=10), seed=2)
    drawn = [row for row in truth.links.to_pylist() if row["diagnosis"] and not row["core"]]
    for row in drawn[:: max(len(drawn) // 200, 1)]:
        d, p = (row[name].partition(":")[2] for name in ("diagnosis", "procedure"))
        assert any(names(dx, d) and names(px, p) for _, _, dx, px in lines), (d, p)
    assert not any(d.startswith("401") for d in (row["diagnosis"].partition(":")[2] for row in drawn))


def test_codes_of_one_kind_exclude_each_other(small: tuple[Cohort, Truth]) -> None:
    cohort, _ = small
    codes = [code.partition(":")[2] for code in cohort.diagnosis_vocabulary]
    for entries in ONE_OF:
        mine = named(entries, codes)
        number = np.add.reduceat(mine[cohort.diagnoses.values], cohort.diagnoses.offsets[:-1], dtype=int)
        assert number.max() <= 1
        assert number.any() == mine.any()


def test_routine_procedures_are_the_unexplained_ones(small: tuple[Cohort, Truth]) -> None:
    cohort, truth = small

    def unexplained(code: str) -> float:
        mine = cohort.procedures.values == cohort.procedure_vocabulary.index(code)
        return float(np.mean(truth.place[mine] < 0))

    assert unexplained("icd9pcs:9904") > 0.1
    assert unexplained("icd9pcs:8154") < 0.03


# The planted truth


def test_every_cause_is_a_linked_diagnosis_of_the_stay(small: tuple[Cohort, Truth]) -> None:
    cohort, truth = small
    linked = strengths(truth)
    for entry, row in enumerate(cohort.procedures.row_of_entry[:20_000].tolist()):
        procedure = cohort.procedure_vocabulary[cohort.procedures.values[entry]]
        if truth.cause[entry] < 0:
            assert truth.place[entry] == -1
            assert linked[None, procedure] > 0
        else:
            cause = cohort.diagnosis_vocabulary[truth.cause[entry]]
            assert cohort.diagnoses_of(row)[truth.place[entry]] == cause
            assert linked[cause, procedure] > 0


def test_posterior_is_the_share_of_the_calls(small: tuple[Cohort, Truth]) -> None:
    """The slow route: link strengths from the table, one stay at a time."""
    cohort, truth = small
    linked = strengths(truth)
    for entry, row in enumerate(cohort.procedures.row_of_entry[:2_000].tolist()):
        procedure = cohort.procedure_vocabulary[cohort.procedures.values[entry]]
        calls = [linked.get((diagnosis, procedure), 0.0) for diagnosis in (*cohort.diagnoses_of(row), None)]
        found = [*truth.posterior[truth.offsets[entry] : truth.offsets[entry + 1]], truth.unexplained[entry]]
        np.testing.assert_allclose(found, np.array(calls) / sum(calls), atol=1e-6)


def test_posterior_sums_to_one(small: tuple[Cohort, Truth]) -> None:
    _, truth = small
    sums = np.add.reduceat(truth.posterior, truth.offsets[:-1]) + truth.unexplained
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, comorbidity=0.9, sharing=8.0),
        # Long stays, in which repeated calls and the limit of 40 procedures matter.
        replace(SMALL, stays=10_000, procedures_per_stay=12.0, diagnoses_per_stay=18.0),
    ],
    ids=["default", "hard", "crowded"],
)
def test_posterior_is_calibrated(config: SyntheticConfig) -> None:
    """Among pairs to which the posterior gives q, a share q are true causes, within chance."""
    _, truth = generate(config, seed=11)
    entry = np.repeat(np.arange(len(truth.place)), np.diff(truth.offsets))
    true = np.arange(len(entry)) - truth.offsets[entry] == truth.place[entry]
    pairs = [(truth.posterior, true), (truth.unexplained, truth.place < 0)]
    for q, hit in pairs:
        q64 = q.astype(np.float64)
        assert not hit[q64 == 0].any()
        assert hit[q64 == 1].all()
        inside = (q64 > 0) & (q64 < 1)
        bins = np.digitize(q64, [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
        for number in np.unique(bins[inside]):
            chosen = inside & (bins == number)
            spread = np.sqrt(np.sum(q64[chosen] * (1 - q64[chosen])))
            # 3.5 σ, not 3: the three configurations give some sixty bins.
            assert abs(hit[chosen].sum() - q64[chosen].sum()) <= 3.5 * spread + 1


def test_default_difficulty_leaves_headroom(small: tuple[Cohort, Truth]) -> None:
    cohort, truth = small
    best = truth.top1_accuracy(truth.posterior)
    by_lift = truth.top1_accuracy(lift(cohort, truth))
    chance = truth.top1_accuracy(np.zeros(len(truth.posterior)))
    assert best == pytest.approx(0.93, abs=0.02)
    assert by_lift == pytest.approx(0.90, abs=0.02)
    assert chance == pytest.approx(0.096, abs=0.01)


def test_difficulty_settings_do_what_they_say() -> None:
    config = replace(SMALL, stays=8_000)
    accuracy, gap, unexplained, causes = {}, {}, {}, {}
    for name, changed in {
        "default": config,
        "shared": replace(config, sharing=8.0),
        "comorbid": replace(config, comorbidity=0.95),
        "independent": replace(config, comorbidity=0.0),
        "unexplained": replace(config, unexplained=0.4),
        "all explained": replace(config, unexplained=0.0),
    }.items():
        cohort, truth = generate(changed, seed=1)
        accuracy[name] = truth.top1_accuracy(truth.posterior)
        gap[name] = accuracy[name] - truth.top1_accuracy(lift(cohort, truth))
        unexplained[name] = np.mean(truth.place < 0)
        causes[name] = len(truth.links) - truth.links["diagnosis"].null_count
    assert causes["default"] / 75 == pytest.approx(3.0, abs=0.5)
    assert causes["shared"] / 75 > 5  # fewer than 8, since few diagnoses fit
    assert accuracy["shared"] < accuracy["default"] - 0.03
    assert gap["comorbid"] > gap["independent"] + 0.01
    assert unexplained["default"] == pytest.approx(0.08, abs=0.01)
    assert unexplained["unexplained"] == pytest.approx(0.4, abs=0.06)
    # Where no diagnosis of a stay has a link, its one procedure cannot be explained.
    assert unexplained["all explained"] < 0.01


def test_comorbid_diagnoses_come_together() -> None:
    """With co-morbidity, pairs of diagnoses of one theme meet far more often than without."""
    themes = {d.code: d.theme for d in core_diagnoses()}
    met = []
    for comorbidity in (0.0, 0.8):
        cohort, _ = generate(replace(SMALL, stays=8_000, comorbidity=comorbidity), seed=2)
        heart, kidney = (
            np.array([themes.get(code.split(":")[1]) == theme for code in cohort.diagnosis_vocabulary])
            for theme in ("circulation", "kidneys")
        )
        has_kidney = np.add.reduceat(kidney[cohort.diagnoses.values], cohort.diagnoses.offsets[:-1])
        has_heart = np.add.reduceat(heart[cohort.diagnoses.values], cohort.diagnoses.offsets[:-1])
        met.append((np.var(has_kidney) / np.mean(has_kidney), np.var(has_heart) / np.mean(has_heart)))
    assert met[1][0] > 1.3 * met[0][0]
    assert met[1][1] > 1.1 * met[0][1]


def test_acute_diagnoses_cause_and_chronic_ones_seldom_do(small: tuple[Cohort, Truth]) -> None:
    cohort, truth = small
    acute = {d.code for d in core_diagnoses() if d.acute}
    is_core = {d.code for d in core_diagnoses()}
    bare = [code.split(":")[1] for code in cohort.diagnosis_vocabulary]
    caused = np.bincount(truth.cause[truth.cause >= 0], minlength=len(bare)) / cohort.diagnosis_counts
    of_acute = np.mean([caused[i] for i, code in enumerate(bare) if code in acute])
    of_chronic = np.mean([caused[i] for i, code in enumerate(bare) if code in is_core - acute])
    assert of_acute > 0.5
    assert of_chronic < 0.05


@pytest.mark.parametrize("preset", list(PRESETS))
def test_core_links_are_planted_with_titles(preset: str) -> None:
    _, truth = generate(replace(PRESETS[preset], stays=100), seed=4)
    core = truth.links.filter(truth.links["core"]).to_pylist()
    assert {(row["diagnosis"], row["procedure"]) for row in core} == {
        (f"icd9cm:{link.diagnosis}", f"icd9pcs:{link.procedure}") for link in core_links()
    }
    assert ("icd9cm:5856", "icd9pcs:3995") in {(row["diagnosis"], row["procedure"]) for row in core}
    assert all(row["strength"] > 0 for row in core)
    assert all(title(row[kind]).exact for row in truth.links.to_pylist() for kind in ("procedure",))
    named = truth.links.filter(pc.is_valid(truth.links["diagnosis"]))
    assert all(title(code).exact for code in named["diagnosis"].to_pylist())


def test_strongest_causes_of_obvious_procedures_are_the_curated_ones(small: tuple[Cohort, Truth]) -> None:
    linked = strengths(small[1])
    for procedure, diagnosis in {"3995": "5856", "9960": "4275", "8154": "71536", "4701": "5409"}.items():
        rivals = {d: s for (d, p), s in linked.items() if p == f"icd9pcs:{procedure}" and d is not None}
        assert max(rivals, key=lambda d: rivals[d]) == f"icd9cm:{diagnosis}"


def test_core_codes_stand_once() -> None:
    assert len({d.code for d in core_diagnoses()}) == len(core_diagnoses())
    assert len(set(core_procedures())) == len(core_procedures())
    known = {d.code for d in core_diagnoses()}
    assert all(link.diagnosis in known and link.procedure in core_procedures() for link in core_links())


# Determinism


def test_same_seed_same_stays_and_other_seed_others() -> None:
    (one, truth_one), (two, truth_two), (other, _) = (generate(FEW, seed) for seed in (1, 1, 2))
    assert one.diagnoses == two.diagnoses
    assert one.procedures == two.procedures
    assert truth_one.links.equals(truth_two.links)
    np.testing.assert_array_equal(truth_one.posterior, truth_two.posterior)
    assert one.diagnoses != other.diagnoses


@pytest.mark.parametrize("stays", [1, 100, BLOCK, BLOCK + 1])
def test_more_stays_continue_fewer(stays: int, small: tuple[Cohort, Truth]) -> None:
    longer, _ = small
    shorter, _ = generate(replace(SMALL, stays=stays), seed=0)
    assert len(shorter) == stays
    for row in {0, stays // 2, stays - 1}:
        assert shorter.diagnoses_of(row) == longer.diagnoses_of(row)
        assert shorter.procedures_of(row) == longer.procedures_of(row)
        assert shorter.stay_ids[row] == longer.stay_ids[row]


def test_file_and_memory_hold_the_same(written: Path) -> None:
    loaded, (cohort, truth) = Cohort.load(written), generate(FEW, seed=5)
    assert loaded.diagnosis_vocabulary == cohort.diagnosis_vocabulary
    assert loaded.procedure_vocabulary == cohort.procedure_vocabulary
    assert loaded.diagnoses == cohort.diagnoses
    assert loaded.procedures == cohort.procedures
    assert loaded.stay_ids.equals(cohort.stay_ids)
    assert loaded.patient_ids is not None
    assert loaded.patient_ids.equals(cohort.patient_ids)
    assert loaded.context is not None
    assert loaded.context.equals(cohort.context)
    found = Truth.load(written)
    for name in ("cause", "place", "offsets", "posterior", "unexplained"):
        np.testing.assert_array_equal(getattr(found, name), getattr(truth, name))
    assert found.links.equals(truth.links)


# Files


def test_same_seed_same_bytes(written: Path, tmp_path: Path) -> None:
    again = tmp_path / "c.parquet"
    synthesize(again, FEW, seed=5)
    for name in (lambda path: path, links_path, causes_path):
        assert name(again).read_bytes() == name(written).read_bytes()


def test_file_says_where_it_comes_from(written: Path) -> None:
    provenance = Cohort.load(written).provenance
    assert provenance["source"] == "synthetic"
    assert provenance["preset"] == "small"
    assert provenance["seed"] == 5
    assert provenance["settings"]["sharing"] == SMALL.sharing
    assert provenance["counts"]["stays"] == FEW.stays


def test_causes_file_is_aligned_with_the_cohort(written: Path) -> None:
    cohort, causes = Cohort.load(written), pq.read_table(causes_path(written))
    for row in range(0, FEW.stays, 97):
        stay = causes.slice(row, 1).to_pylist()[0]
        assert stay["stay_id"] == cohort.stay_ids[row].as_py()
        assert tuple(stay["procedures"]) == cohort.procedures_of(row)
        assert len(stay["causes"]) == len(stay["posterior"]) == len(stay["procedures"])
        assert set(stay["causes"]) <= {None, *cohort.diagnoses_of(row)}
        for shares in stay["posterior"]:
            assert len(shares) == len(cohort.diagnoses_of(row)) + 1
            assert sum(shares) == pytest.approx(1, abs=1e-5)


def test_progress_counts_stays(tmp_path: Path) -> None:
    seen: list[int] = []
    summary = synthesize(tmp_path / "c.parquet", replace(SMALL, stays=BLOCK + 5), progress=seen.append)
    assert seen == [BLOCK, BLOCK + 5]
    assert summary.stays == BLOCK + 5


def test_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done > BLOCK:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synthesize(tmp_path / "c.parquet", replace(SMALL, stays=3 * BLOCK), progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_truth_must_belong_to_the_cohort(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    path.write_bytes(written.read_bytes())
    with pytest.raises(CohortError, match="only synthetic cohorts have"):
        Truth.load(path)
    synthesize(tmp_path / "other.parquet", FEW, seed=6)
    links_path(path).write_bytes(links_path(written).read_bytes())
    causes_path(path).write_bytes(causes_path(tmp_path / "other.parquet").read_bytes())
    with pytest.raises(CohortError, match="belongs to another cohort"):
        Truth.load(path)
    causes_path(path).write_text("not parquet")
    with pytest.raises(CohortError, match="not a file of planted truth"):
        Truth.load(path)


def test_truth_of_other_stays_is_refused(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    for name in (lambda p: p, links_path):
        name(path).write_bytes(name(written).read_bytes())
    table = pq.read_table(causes_path(written))
    pq.write_table(table.slice(1), causes_path(path))
    with pytest.raises(CohortError, match="other stays"):
        Truth.load(path)


# Settings


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"stays": 0}, "number of stays must be at least 1, not 0"),
        ({"diagnoses": 10}, "diagnosis codes must lie between 60 and 3500, not be 10"),
        ({"procedures": 9_999}, "procedure codes must lie between 20 and 1500"),
        ({"unexplained": 1.5}, "unexplained share must lie between 0 and 0.9, not be 1.5"),
        ({"sharing": 0.5}, "share a procedure must lie between 1 and 20, not be 0.5"),
        ({"comorbidity": -0.1}, "co-morbidity must lie between 0 and 0.95, not be -0.1"),
        ({"comorbidity": float("nan")}, "co-morbidity must lie between"),
        ({"rarest_diagnosis": 0.2}, "leave room for common ones"),
        ({"rarest_procedure": 0.0}, "leave room for common ones"),
    ],
)
def test_bad_settings_get_one_sentence(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        replace(SMALL, **wrong)


def test_all_bad_settings_are_named_together() -> None:
    with pytest.raises(InputError, match=r"unexplained share .* co-morbidity"):
        SyntheticConfig(unexplained=2.0, comorbidity=2.0)


def test_bad_seed_gets_one_sentence() -> None:
    with pytest.raises(InputError, match="seed must be 0 or a positive whole number, not -1"):
        generate(FEW, seed=-1)


@pytest.mark.parametrize(
    "config",
    [
        replace(FEW, diagnoses=60, procedures=20, rarest_diagnosis=0.01, rarest_procedure=0.01),
        replace(FEW, diagnoses=3_500, procedures=1_500, rarest_diagnosis=3e-4, rarest_procedure=3e-4),
        replace(FEW, sharing=1.0, unexplained=0.0, comorbidity=0.95),
        replace(FEW, sharing=20.0, unexplained=0.9, comorbidity=0.0),
        replace(FEW, diagnoses_per_stay=20.0, procedures_per_stay=12.0),
    ],
    ids=["few codes", "all codes", "easy", "hard", "long lists"],
)
def test_extreme_settings_give_usable_cohorts(config: SyntheticConfig) -> None:
    cohort, truth = generate(config, seed=3)
    assert len(cohort) == config.stays
    assert cohort.diagnoses.lengths.min() >= 1
    assert cohort.diagnoses.lengths.max() <= 41
    assert cohort.procedures.lengths.min() >= 1
    assert cohort.procedures.lengths.max() <= 40
    sums = np.add.reduceat(truth.posterior, truth.offsets[:-1]) + truth.unexplained
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)


# Draws


def test_urns_give_their_own_codes_by_weight() -> None:
    urns = Urns.of(np.array([2, 0, 2, 0]), np.array([7, 5, 8, 6]), np.array([3.0, 1.0, 1.0, 0.0]))
    rng = np.random.default_rng(0)
    urn = np.repeat([0, 2], 4_000)
    drawn = urns.draw(urn, stratified(rng, urn))
    assert set(drawn[:4_000]) == {5}
    assert np.mean(drawn[4_000:] == 7) == pytest.approx(0.75, abs=1e-3)
    assert set(drawn[4_000:]) == {7, 8}
    edge = np.nextafter(1.0, 0.0)
    assert urns.draw(np.array([0, 2]), np.array([edge, edge])).tolist() == [5, 8]


def test_stratified_numbers_fall_once_into_each_slot() -> None:
    urn = np.array([1, 0, 1, 1, 0, 1])
    u = stratified(np.random.default_rng(0), urn)
    assert sorted(np.floor(u[urn == 1] * 4)) == [0, 1, 2, 3]
    assert sorted(np.floor(u[urn == 0] * 2)) == [0, 1]


def test_ties_count_as_chance() -> None:
    truth = Truth(
        cause=np.array([4, -1, 9], np.int32),
        place=np.array([0, -1, 1], np.int16),
        offsets=np.array([0, 2, 4, 7]),
        posterior=np.array([0.5, 0.5, 0, 0, 0.2, 0.7, 0.1], np.float32),
        unexplained=np.array([0, 1, 0], np.float32),
        links=pa.table({}),
    )
    assert truth.top1_accuracy(truth.posterior) == pytest.approx((0.5 + 1) / 2)
    assert truth.top1_accuracy(np.zeros(7)) == pytest.approx((1 / 2 + 1 / 3) / 2)
