"""Cohorts from data frames and back: each layout, the accounting of `prepare table`, and both ways."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dx2px import Cohort, CohortError, SourceOptions

LISTS = pa.table(
    {
        "stay": ["a", "b"],
        "diagnoses": [["428.0", "585.6"], ["038.9"]],
        "procedures": [["39.95"], ["38.93", "96.71"]],
        "age": [70, None],
    }
)
WIDE = pa.table(
    {
        "stay": ["a", "b"],
        "dx1": ["428.0", "038.9"],
        "dx2": ["585.6", None],
        "px1": ["39.95", "38.93"],
        "px2": [None, "96.71"],
        "age": [70, None],
    }
)
LONG = pa.table(
    {
        "stay": ["a", "a", "b", "a", "b", "b"],
        "kind": ["dx", "dx", "dx", "px", "px", "px"],
        "code": ["428.0", "585.6", "038.9", "39.95", "38.93", "96.71"],
        "age": [70, 70, None, 70, None, None],
    }
)
EXPECTED = {
    "a": (("icd9cm:4280", "icd9cm:5856"), ("icd9pcs:3995",), 70),
    "b": (("icd9cm:0389",), ("icd9pcs:3893", "icd9pcs:9671"), None),
}


class Capsule:
    """A frame of another library, such as polars: all it has is the Arrow interface; text is views or categories."""

    def __init__(self, table: pa.Table) -> None:
        views = [f.with_type(pa.string_view()) if f.type == pa.string() else f for f in table.schema]
        self.table = table.cast(pa.schema(views))
        texts = table.column("stay").dictionary_encode().combine_chunks()
        coded = pa.DictionaryArray.from_arrays(texts.indices, texts.dictionary.cast(pa.string_view()))
        self.table = self.table.set_column(0, "stay", coded)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def stays(cohort: Cohort) -> dict[str, tuple[Any, ...]]:
    assert cohort.context is not None
    ages = cohort.context.column("age").to_pylist()
    return {
        str(name): (cohort.diagnoses_of(row), cohort.procedures_of(row), ages[row])
        for row, name in enumerate(cohort.stay_ids.to_pylist())
    }


def test_every_layout_gives_the_same_stays() -> None:
    assert stays(Cohort.from_pandas(LISTS.to_pandas())) == EXPECTED
    assert stays(Cohort.from_pandas(LONG.to_pandas().set_index("stay"))) == EXPECTED
    assert stays(Cohort.from_polars(Capsule(WIDE))) == EXPECTED


def test_what_is_set_aside_is_on_the_cohort_and_a_warning() -> None:
    frame = pd.DataFrame(
        {"case": [1, 1, 1, 2], "k": ["dx", "dx", "px", "dx"], "code": ["4280", "junk", "3995", None]}
    )
    options = SourceOptions(icd="9", stay_column="case", kind_column="k")
    with pytest.raises(CohortError, match="2 of 4 entries"):
        Cohort.from_pandas(frame, options=options)
    with pytest.warns(UserWarning, match="2 of 4 entries") as caught:
        cohort = Cohort.from_pandas(frame, options=options, max_rejected=0.5)
    assert caught[0].filename == __file__
    counts = cohort.provenance["counts"]
    assert counts["rejected"] == {"missing_code": 1, "not_a_code": 1}
    assert counts["entries_read"] == counts["entries_used"] + 2
    assert cohort.provenance["notes"] == ["frame.parquet: stay = case, code = code (guessed), kind = k"]


def test_two_frames_and_numbers_that_lost_their_zeros() -> None:
    diagnoses = pd.DataFrame({"stay": [1, 2], "code": [389, 4280]})
    procedures = pd.DataFrame({"stay": [1, 2], "code": [3995, 17]})
    cohort = Cohort.from_pandas(diagnoses, procedures=procedures, options=SourceOptions(icd="9"))
    assert [cohort.procedures_of(row) for row in range(2)] == [("icd9pcs:3995",), ("icd9pcs:0017",)]
    assert cohort.provenance["counts"]["repaired"] > 0
    assert "procedures_file" not in cohort.provenance["settings"]  # a place that is gone


def test_there_and_back() -> None:
    cohort = Cohort.from_lists(
        [["icd9cm:4280", "icd10cm:E119"], ["icd9cm:0389"]],
        [["icd9pcs:3995"], ["icd9pcs:0017", "icd9pcs:3995"]],
        stay_ids=["a", "b"],
        patient_ids=["p", None],
        age=[70, None],
        principal=["icd9cm:4280", None],
    )
    assert cohort.to_arrow("wide").select(["dx1", "dx2", "px2"]).to_pydict() == {
        "dx1": ["icd9cm:4280", "icd9cm:0389"],
        "dx2": ["icd10cm:E119", None],
        "px2": [None, "icd9pcs:3995"],
    }
    long = cohort.to_arrow("long").select(["stay_id", "kind", "system", "code"]).to_pylist()
    assert [tuple(row.values()) for row in long] == [
        ("a", "diagnosis", "icd9cm", "428.0"),
        ("a", "diagnosis", "icd10cm", "E11.9"),
        ("b", "diagnosis", "icd9cm", "038.9"),
        ("a", "procedure", "icd9pcs", "39.95"),
        ("b", "procedure", "icd9pcs", "00.17"),
        ("b", "procedure", "icd9pcs", "39.95"),
    ]
    for again in (
        Cohort.from_arrow(cohort.to_arrow()),
        Cohort.from_pandas(cohort.to_pandas()),
        Cohort.from_pandas(cohort.to_pandas("long")),
        Cohort.from_polars(cohort.to_polars()),
    ):
        assert stays(again) == stays(cohort)
        assert again.patient_ids is not None
        assert again.patient_ids.to_pylist() == ["p", None]


def test_canonical_codes_say_their_version_themselves() -> None:
    lists = pd.DataFrame(
        {
            "diagnoses": [["icd9cm:428.0", "icd10cm:E119"], ["icd9cm:0389"]],
            "procedures": [["icd9pcs:3995"], ["icd10pcs:5A1D70Z"]],
        }
    )
    cohort = Cohort.from_pandas(lists)
    assert cohort.diagnoses_of(0) == ("icd9cm:4280", "icd10cm:E119")
    assert cohort.procedures_of(1) == ("icd10pcs:5A1D70Z",)
    with pytest.raises(CohortError, match=r"options=SourceOptions\(icd='9'\)"):
        Cohort.from_pandas(pd.DataFrame({"diagnoses": [["V10"]], "procedures": [["junk"]]}))


def test_what_is_no_frame_is_one_sentence() -> None:
    with pytest.raises(CohortError, match=r"^A frame is an Arrow table"):
        Cohort.from_arrow(5)
    mixed = pd.DataFrame({"stay": [1, 2], "code": ["4280", 5]}, dtype=object)
    with pytest.raises(CohortError, match=r"^The frame's column code holds values of several types"):
        Cohort.from_pandas(mixed)
    with pytest.raises(CohortError, match=r"^The frame has no column of procedures; it has stay, diagnoses"):
        Cohort.from_pandas(pd.DataFrame({"stay": ["a"], "diagnoses": [["428.0"]]}))
    with pytest.raises(CohortError, match="several columns of the same name"):
        Cohort.from_arrow(pa.table([pa.array(["a"])] * 2, ["stay", "stay"]))
    with pytest.raises(CohortError, match="no layout 'broad'"):
        Cohort.from_lists([["icd9cm:4280"]], [["icd9pcs:3995"]]).to_arrow("broad")  # type: ignore[arg-type]
