"""Scoring streams of stays: the same answers as one question at a time, whatever the stream looks like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dx2px.answers.population as population
from dx2px import score_batches
from dx2px.answers import Model, encoding
from dx2px.errors import InputError
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.methods import METHODS
from synthetic_models import partly_learned

TEXTS = pa.list_(pa.string())
OTHER_VERSION = ("icd10cm:I509", "I25.110", "Z3A.39")  # one code, several together, none
CALIBRATION = Calibration(
    centred=True,
    first=Curve(np.array([-9.0, -2.0, 0.0]), np.array([-7.0, -1.0, 2.0])),
    weights=np.array([1.0, 0.2, 0.1, -0.3]),
    second=Curve(np.array([-6.0, 4.0]), np.array([-8.0, 3.0])),
    coverages=np.array([0.9]),
    thresholds=np.array([0.1]),
)


def random_model(method: str, seed: int = 0) -> Model:
    return Model(partly_learned(method, seed, calibration=CALIBRATION))


def random_lists(stays: int, seed: int = 1) -> list[list[str]]:
    """Known codes and unknown ones with known siblings, typed in three ways, some twice, and no codes."""
    rng = np.random.default_rng(seed)
    forms = ("icd9cm:{0}{1}", "{0}{1}", " {0}.{1} ")

    def text() -> str:
        if rng.random() < 0.03:
            return str(rng.choice(["nonsense", *OTHER_VERSION, "", "icd9cm:V1582"]))
        code = str(rng.integers(4000, 4480) if rng.random() < 0.1 else 4000 + 4 * rng.integers(0, 120))
        return forms[rng.integers(0, 3)].format(code[:3], code[3])

    return [[text() for _ in range(rng.integers(0, 12))] for _ in range(stays)]


def batch(lists: Sequence[Any], kind: pa.DataType = TEXTS, start: int = 0) -> pa.RecordBatch:
    ids = [f"s{start + number}" for number in range(len(lists))]
    return pa.record_batch({"stay_id": pa.array(ids), "diagnoses": pa.array(lists, kind)})


def cut(whole: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    return (whole.slice(start, rows) for start in range(0, len(whole), rows))


def answers(batches: Any, model: Model, **options: Any) -> pa.Table:
    return pa.Table.from_batches(score_batches(model, batches, **options)).combine_chunks()


def answer(lists: Sequence[Any], model: Model, **options: Any) -> list[dict[str, Any]]:
    return list(answers([batch(lists)], model, **options).to_pylist())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_answers_are_those_of_one_question_at_a_time(method: str) -> None:
    model = random_model(method)
    lists = random_lists(60)
    for codes, found in zip(lists, answer(lists, model, top=7), strict=True):
        try:
            asked = model.recommend(codes, 7)
        except InputError:  # nothing that the model can use
            assert found["recommendations"] == found["scores"] == found["probabilities"] == []
            assert found["known_diagnoses"] == found["backed_off_diagnoses"] == 0
            continue
        statuses = [diagnosis.status for diagnosis in asked.diagnoses]
        assert found["known_diagnoses"] == statuses.count("known")
        assert found["backed_off_diagnoses"] == statuses.count("backed-off")
        assert found["unknown_diagnoses"] == statuses.count("unknown")
        likely = [one.probability for one in asked.recommendations]
        assert found["probabilities"] == pytest.approx(likely, rel=1e-4)
        # Scores that differ in the last digit only may change places.
        for code, one in zip(found["recommendations"], asked.recommendations, strict=True):
            assert code == one.code or sorted(np.diff(likely))[-1] > -1e-5


def test_the_sample_of_stays_holds_every_case() -> None:
    found = answers([batch(random_lists(3000))], random_model("linear"))
    for name in ("known_diagnoses", "backed_off_diagnoses", "unknown_diagnoses"):
        assert set(found[name].to_pylist()) >= {0, 1, 2}
    lengths = set(pa.compute.list_value_length(found["recommendations"]).to_pylist())
    assert lengths == {0, 10}


@pytest.mark.parametrize("method", ["e+sa+ma", "e+pooling", "coupling", "mlp"])
def test_batch_sizes_and_threads_change_no_bit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(population, "STAYS", 1000)
    model, whole = random_model(method), batch(random_lists(2500))
    expected = answers([whole], model, threads=1)
    assert expected["stay_id"].to_pylist() == whole.column("stay_id").to_pylist()
    for rows in (1, 7, 1000, 10_000):
        assert answers(cut(whole, rows), model, threads=1).equals(expected)
    assert answers(cut(whole, 999), model, threads=3).equals(expected)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_company_changes_no_bit(method: str) -> None:
    """Streams may be cut and mixed at will, as a cluster does: each stay's answer is its own."""
    model, whole = random_model(method), batch(random_lists(3000))
    expected = answers([whole], model)
    apart = pa.concat_tables([answers([part], model) for part in cut(whole, 700)])
    assert apart.combine_chunks().equals(expected)
    order = np.random.default_rng(2).permutation(len(whole))
    assert answers([whole.take(pa.array(order))], model).equals(expected.take(pa.array(order)))


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.string_view()),
        pa.list_(pa.large_string(), 2),
    ],
    ids=str,
)
def test_other_kinds_of_lists_and_texts(kind: pa.DataType) -> None:
    model = random_model("e+sa+ma")
    lists = [["4000", "400.4"], None, ["4008", None], ["4012", "x"]]
    if not pa.types.is_fixed_size_list(kind):
        lists += [[], ["4016"]]
    expected = answers([batch(lists)], model)
    assert answers([batch(lists, kind)], model).equals(expected)
    assert answers(cut(batch(lists, kind), 2), model).equals(expected)


def test_columns_may_stand_in_any_order_among_others() -> None:
    model, whole = random_model("e+sa+ma"), batch(random_lists(50))
    ids = whole.column("stay_id").dictionary_encode()
    other = pa.record_batch(
        {"age": pa.array(range(50)), "diagnoses": whole.column("diagnoses"), "stay_id": ids}
    )
    assert answers([other], model).equals(answers([whole], model))


def test_ids_keep_their_type() -> None:
    stays = pa.record_batch({"stay_id": pa.array([7, None]), "diagnoses": pa.array([["4000"]] * 2, TEXTS)})
    found = answers([stays], random_model("e+sa+ma"))
    assert found["stay_id"].type == pa.int64()
    assert found["stay_id"].to_pylist() == [7, None]


def test_nothing_known_gives_an_empty_list(model: Model) -> None:
    null, empty, unknown, null_code = answer([None, [], ["V70.0", "x", "x"], [None, None]], model)
    for one in (null, empty, unknown, null_code):
        assert one["recommendations"] == one["scores"] == []
    assert [one["unknown_diagnoses"] for one in (null, empty, unknown, null_code)] == [0, 0, 2, 1]
    assert answers([batch([[], []], pa.list_(pa.null()))], model)["recommendations"].to_pylist() == [[], []]


def test_planted_answers(model: Model) -> None:
    heart, sugar, both = answer([["428.0"], ["250.00"], ["4280", "428.0", "icd9cm:4280"]], model, top=1)
    assert heart["recommendations"] == both["recommendations"] == ["icd9pcs:3722"]
    assert sugar["recommendations"] == ["icd9pcs:3995"]
    assert both["known_diagnoses"] == 1
    assert both["scores"] == heart["scores"]


def test_a_text_of_several_codes_is_set_aside(model: Model) -> None:
    """E030 is a code of ICD-9 and of ICD-10, and the model knows both."""
    (found,) = answer([["E030", "428.0"]], model)
    assert (found["known_diagnoses"], found["unknown_diagnoses"]) == (1, 1)


def test_two_codes_under_one_heading_weigh_twice() -> None:
    """As in one question: two unknown codes are two diagnoses, though the same codes stand in for both."""
    model = random_model("linear")
    assert {model.diagnoses.find(code).status for code in ("4001", "4002")} == {"backed-off"}
    once, twice, again = answer([["4001"], ["4001", "4002"], ["4001", "400.1"]], model)
    assert once["scores"] != twice["scores"]
    assert once["scores"] == again["scores"]
    assert [one["backed_off_diagnoses"] for one in (once, twice, again)] == [1, 2, 1]


def test_without_calibration_there_are_no_probabilities() -> None:
    model = Model(replace(random_model("e+sa+ma").files, calibration=None))
    found = answers([batch(random_lists(20))], model)
    assert found["probabilities"].null_count == 20
    assert found["scores"].null_count == 0


def test_more_than_all_procedures_are_all() -> None:
    (found,) = answer([["4000"]], random_model("e+sa+ma"), top=99)
    assert len(set(found["recommendations"])) == len(found["scores"]) == 30
    assert found["scores"] == sorted(found["scores"], reverse=True)


def test_texts_are_forgotten_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model, whole = random_model("e+sa+ma"), batch(random_lists(2000))
    expected = answers([whole], model)
    monkeypatch.setattr(encoding, "_REMEMBERED", 5)
    monkeypatch.setattr(population, "STAYS", 256)
    assert answers([whole], model).equals(expected)
    encoder = encoding.StayEncoder(model.diagnoses, {})
    for start in range(0, 600, 6):
        encoder.encode(pa.array([[f"text {start + number}" for number in range(6)]], TEXTS))
        assert len(encoder._texts.texts) - 1 == len(encoder._numbers) <= 11


def test_an_empty_stream_gives_nothing(model: Model) -> None:
    assert list(score_batches(model, [])) == []
    assert list(score_batches(model, [batch([])])) == []


def test_a_stream_is_read_only_as_far_as_it_is_used(monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    monkeypatch.setattr(population, "STAYS", 10)
    read = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal read
        while True:
            read += 10
            yield batch([["4280"]] * 10)

    stream = score_batches(model, endless(), threads=2)
    for _ in range(20):
        next(stream)
    assert read <= 20 * 10 + 60
    stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"stay_id": ["1"]}, "need one column diagnoses; they have stay_id"),
        ({"id": ["1"], "dx": ["2"]}, "one column stay_id and one column diagnoses"),
        ({"stay_id": ["1"], "diagnoses": ["4280"]}, "lists of codes as text, .* not texts"),
        ({"stay_id": ["1"], "diagnoses": [[4280]]}, "lists of codes as text, .* not list<item: int64>"),
    ],
)
def test_wrong_columns_are_named(columns: dict[str, Any], sentence: str, model: Model) -> None:
    with pytest.raises(InputError, match=sentence):
        list(score_batches(model, [pa.record_batch(columns)]))


def test_top_must_be_positive(model: Model) -> None:
    with pytest.raises(InputError, match="at least 1, not 0"):
        score_batches(model, [], top=0)


def test_text_that_is_not_utf_8_is_said() -> None:
    damaged = pa.array([b"428.0", b"\xff"], pa.binary()).view(pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), damaged)
    stays = pa.record_batch({"stay_id": pa.array(["a"]), "diagnoses": lists})
    with pytest.raises(InputError, match="not text in UTF-8"):
        list(score_batches(random_model("coupling"), [stays]))


def test_an_id_is_one_value() -> None:
    stays = pa.record_batch({"stay_id": pa.array([["a", "b"]]), "diagnoses": pa.array([["428.0"]], TEXTS)})
    with pytest.raises(InputError, match="stay_id must hold one value"):
        list(score_batches(random_model("coupling"), [stays]))
