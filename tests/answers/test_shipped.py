"""The model inside the package: it is the one that was published, and its answers are pinned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px.answers import Model
from dx2px.answers.audit import audit_stay
from dx2px.answers.shipped import DEFAULT, asked_in, audited_in, model_path, shipped_models
from dx2px.codes import holds
from dx2px.errors import ModelError, OtherVersionError
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.subgroups import SMALLEST

FINGERPRINT = "821177245b81a2febbcf9cd63ed619f011778d5cc96903f517cbac1ed3b302eb"
TOP_FIVE = {
    "585.6 427.5": "9671 9604 3995 9960 5569",
    "820.21 428.0 401.9": "7935 7915 9904 7855 8152",
    "410.71 414.01 250.00": "3722 8856 0066 8853 3607",
    "V30.00": "640 9541 9547 9546 9955",
    "574.10": "5123 8753 5122 5185 5110",
    "540.9": "4701 4709 8801 9921 9929",
    "650": "7359 7309 736 734 7534",
    "434.91 784.3": "8872 8841 8891 8703 9910",
    "518.81 486": "9671 9604 9390 3893 9672",
    "303.90 291.81": "9462 9463 9929 9468 9444",
}


# Everyday stays in ICD-10, and a code of the family that comes first, as in ICD-9.
EVERYDAY = {
    "S72.141A": "0QS604Z",
    "O80 Z37.0": "10E0XZZ",
    "O34.211 Z37.0 Z3A.39": "10D00Z1",
    "Z38.00 Z23": "3E0234Z",
    "I21.19 I25.10 I10": "02703ZZ",
    "K35.80": "0DTJ4ZZ",
    "A41.9 R65.21 J96.01": "5A1945Z",
    "N18.6": "5A1D70Z",
    "I63.9": "B246ZZZ",
    "F10.239": "HZ2ZZZZ",
    "M17.11": "0SRC0J9",
    "K80.00": "0FT44ZZ",
    "K92.2": "0DB68ZX",
    "F20.0": "GZ3ZZZZ",
    "Z51.11": "3E04305",
}


@pytest.fixture(scope="module")
def families() -> Model:
    return Model.load(answer_in="icd10pcs")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load(model_path())


def test_it_is_the_published_one(model: Model) -> None:
    assert list(shipped_models()) == [DEFAULT, "nhds2010-icd10", "nhds2010-paper"]
    assert fingerprint(model.files) == FINGERPRINT
    assert sum(file.stat().st_size for file in model_path().iterdir()) < 4_000_000


@pytest.mark.parametrize("diagnoses", TOP_FIVE)
def test_its_answers_are_pinned(model: Model, diagnoses: str) -> None:
    answer = model.recommend(diagnoses.split())
    assert (
        " ".join(one.code.removeprefix("icd9pcs:") for one in answer.recommendations) == TOP_FIVE[diagnoses]
    )
    assert all(one.probability is not None and 0 < one.probability < 1 for one in answer.recommendations)
    rows = (*answer.diagnoses, *answer.evidence)
    assert sum(one.significance for one in rows) == pytest.approx(1)


@pytest.mark.parametrize("diagnoses", EVERYDAY)
def test_everyday_stays_in_icd_10_are_answered_in_families(families: Model, diagnoses: str) -> None:
    (first,) = families.recommend(diagnoses.split(), 1).recommendations
    assert holds(f"icd10pcs:{EVERYDAY[diagnoses]}", first.code)


def test_a_family_says_the_side_of_the_diagnosis(families: Model) -> None:
    right, left, none = (
        families.recommend([code], 1).recommendations[0] for code in ("M17.11", "M17.12", "715.36")
    )
    assert right.family is not None
    assert (right.title, right.family.side) == ("Replacement of knee joint, right", "right")
    assert right.family.narrowed == "icd10pcs:0SR[CTV]"
    assert right.to_dict()["family"]["listed"][0] == "icd10pcs:0SRC069"
    assert left.family is not None
    assert (left.family.side, left.code) == ("left", right.code)
    assert none.family is not None
    assert (none.family.side, none.family.complete_by[0]) == (None, "side")


def test_a_code_of_a_family_counts_as_the_family(families: Model) -> None:
    answer = families.recommend(["M17.11"], 1, coded=["0SRC0J9"])
    assert [(one.code, one.status) for one in answer.evidence if one.kind == "coded"] == [
        ("icd10pcs:0SR[CDTUVW]", "known")
    ]
    assert answer.recommendations[0].code != "icd10pcs:0SR[CDTUVW]"
    assert families.procedures.find("0sr[cdtuvw]").status == "known"
    assert families.procedures.find("0SRC0J9").code == "icd10pcs:0SR[CDTUVW]"


def test_stays_in_icd_10_are_scored_and_audited_in_families(families: Model) -> None:
    """Right knee arthrosis and its replacement: neither of the two is odd, and nothing of them is missing."""
    stays = [["M17.11", "I10"], ["715.36", "401.9"]]
    many = families.recommend_many(stays, top=1)
    assert many["code"].tolist() == ["icd10pcs:0SR[CDTUVW]"] * 2
    alone = families.recommend(stays[0], 1).recommendations[0].probability
    assert alone is not None
    assert (
        many["probability"][0] > alone
    )  # a whole stay has no other diagnosis; a question may leave some out
    found = audit_stay(families, stays[0], ["0SRC0J9"])
    assert found.unknown == ()
    assert "icd10pcs:0SR[CDTUVW]" not in {one.code for one in found.findings}
    with pytest.raises(OtherVersionError, match="leave out --no-map"):
        families.score_frame(pa.table({"diagnoses": stays}), map=False)


def test_an_audit_is_in_the_system_of_the_coded_procedures() -> None:
    assert audited_in(["M17.11"], ["0SRC0J9"]) == audited_in(["715.36"], ["0SR[CDTUVW]"]) == "icd10pcs"
    assert audited_in(["M17.11"], ["81.54"]) == audited_in(["715.36"], []) == "icd9pcs"
    assert audited_in(["M17.11"], []) == audited_in(["M17.11"], ["nonsense"]) == "icd10pcs"


def test_the_paper_s_model_shows_the_paper_s_picture(model: Model) -> None:
    """Of the same stays as the default one; in the first stay of the paper's figure, dialysis comes from the kidneys
    and resuscitation from the arrest."""
    paper = Model.load("nhds2010-paper")
    assert paper.files.method == "e+sa+ma"
    assert paper.files.diagnoses == model.files.diagnoses
    shown = paper.explain(["585.6", "427.5", "518.81"])
    assert shown.plan.kind == "transport"
    because = {one.code: one.because[0].code for one in shown.procedures}
    assert (because["icd9pcs:3995"], because["icd9pcs:9960"]) == ("icd9cm:5856", "icd9cm:4275")


def test_the_question_chooses_the_system_of_the_answer() -> None:
    assert asked_in(["N18.6", "I46.9", "585.6"]) == "icd10pcs"
    assert asked_in(["585.6", "N18.6"]) == asked_in(["nonsense"]) == asked_in([]) == "icd9pcs"
    with pytest.raises(ModelError, match="answers in ICD-9-CM, not in ICD-10-PCS"):
        Model.load(DEFAULT, answer_in="icd10pcs")


@pytest.mark.parametrize("name", shipped_models())
def test_no_small_count_stands_in_it(name: str) -> None:
    counts = np.array(pq.read_table(model_path(name) / "vocabulary.parquet").column("count").to_pylist())
    assert ((counts == 0) | (counts >= SMALLEST)).all()
    assert (counts > 0).mean() > 0.9


def test_a_code_that_training_stays_had_is_known_however_few_they_were(model: Model) -> None:
    answer = model.recommend(["171.5", "380.10", "411.89"])
    assert [one.status for one in answer.diagnoses] == ["known"] * 3


def test_its_card_tells_of_data_licence_recipe_calibration_groups_and_limits(model: Model) -> None:
    card = model.files.card
    for word in (
        "Hospital Discharge Survey",
        "public domain",
        "experiments/nhds2010.toml",
        "Calibration",
        "## Groups",
    ):
        assert word in card
    assert "no medical advice" in card


def test_a_path_goes_before_a_name_and_what_is_neither_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model_path(DEFAULT) == model_path() == shipped_models()[DEFAULT]
    assert Model.load().source == Model.load(DEFAULT).source
    monkeypatch.chdir(tmp_path)
    (tmp_path / DEFAULT).mkdir()
    assert model_path(DEFAULT) == Path(DEFAULT)
    with pytest.raises(
        ModelError, match=r"no such folder.* package, which has nhds2010, nhds2010-icd10, nhds2010-paper\."
    ):
        Model.load("elsewhere")
    with pytest.raises(ModelError, match=r"no such folder\.$"):
        Model.load("else/where")  # no name


def test_a_question_needs_neither_torch_nor_much_memory() -> None:
    code = (
        "import sys; sys.argv = ['dx2px', 'recommend', '585.6', '427.5', '--json'];"
        "from dx2px.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'numba', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules), sorted(sys.modules)\n"
        "from pathlib import Path; status = Path('/proc/self/status')\n"
        "print(status.read_text().split('VmHWM:')[1].split()[0] if status.exists() else 0, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert '"icd9pcs:9604"' in run.stdout
    assert int(run.stderr.split()[-1]) < 250_000  # kB


def test_its_card_has_the_numbers_of_its_config(model: Model) -> None:
    measured = model.files.measured
    assert measured is not None
    assert f"{measured['stays']:,} stays, held out" in model.files.card
    assert list(measured["top"]) == ["1", "3", "5", "10"]
    for top, rates in measured["top"].items():
        assert (
            f"| {top} | {rates['recall']:.1f} | {rates['precision']:.1f} | {rates['f1']:.1f} |"
            in model.files.card
        )
    assert f"| all | {measured['calibration']['all']['ece']:.4f} |" in model.files.card
