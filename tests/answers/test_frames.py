"""From Python as its users expect it: one line to a model, short answers, data frames in and out, notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dx2px
from dx2px import AuditSettings, System, audit_stay, normalize, resolve
from dx2px.answers import Explanation, Model
from dx2px.answers.population import score_batches
from dx2px.errors import InputError, ModelError
from dx2px.report.flow import SLOT, Flow

QUESTION = ["428.0", "250.00"]


def test_one_line_gives_a_model(folder: Path, model: Model) -> None:
    packaged = dx2px.load()
    assert packaged.source == dx2px.load("nhds2010").source == Model.load("nhds2010").source
    assert dx2px.load(folder).source == dx2px.load(str(folder)).source == model.source
    with pytest.raises(ModelError, match="nowhere"):
        dx2px.load("nowhere")


def test_a_single_text_is_one_code(model: Model) -> None:
    assert model.recommend("428.0").to_dict() == model.recommend(["428.0"]).to_dict()
    assert model.explain("428.0", "37.22").to_dict() == model.explain(["428.0"], ["37.22"]).to_dict()
    for several in ("428.0, 250.00", "428.0 250.00", "N18.6;I46.9", "0SRC0J9,0SRD0J9"):
        with pytest.raises(
            InputError, match=r"as a list of texts, as in \['585.6', '427.5'\], not in one text"
        ):
            model.recommend(several)
    with pytest.raises(InputError, match="No diagnoses were given: give at least one code"):
        model.recommend("")


def test_answers_are_short_where_they_are_shown(model: Model) -> None:
    answer = model.recommend(QUESTION, top=4)
    assert repr(answer).startswith("Recommendation(428.0, 250.00 → 37.22 ")
    assert repr(answer).endswith("%, …)")
    assert repr(Explanation.of(answer)).startswith("Explanation(428.0, 250.00 → 37.22 ")
    assert repr(model.neighbors("428.0", 1)).startswith("Neighbors(428.0 ~ ")
    assert repr(model.find("heart failure")[0]).startswith("Hit(428.0 ")
    assert max(map(len, map(repr, (answer, model.neighbors("428.0"))))) < 120
    audit = audit_stay(model, ["038.9"], ["37.22", "36.07", "96.04"], AuditSettings(precision=0.001))
    assert repr(audit).startswith(f"StayAudit({audit.findings[0].kind} ")
    assert len(repr(audit)) < 120
    frame = audit.to_frame()
    assert frame["code"].tolist() == [one.code for one in audit.findings]
    assert frame["reason"].tolist() == [one.because[0].code for one in audit.findings]
    assert repr(audit_stay(model, ["nonsense"], ["37.22"])) == "StayAudit(nothing found)"


def test_an_answer_is_a_frame_with_a_row_per_procedure(model: Model) -> None:
    answer = model.recommend(QUESTION, top=3)
    frame = answer.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["code"].tolist() == [one.code for one in answer.recommendations]
    assert frame["rank"].tolist() == [1, 2, 3]
    assert frame["probability"].tolist() == [one.probability for one in answer.recommendations]
    first = answer.recommendations[0].because[0]
    assert frame.loc[0, ["reason", "reason_share"]].tolist() == [first.code, first.share]
    assert frame.loc[0, "reason_title"] == "Congestive heart failure, unspecified"


def test_an_explanation_is_a_frame_with_a_row_per_pair(model: Model) -> None:
    found = model.explain(QUESTION, top=3)
    frame = found.to_frame()
    assert len(frame) == 2 * 3
    assert np.allclose(frame.groupby("procedure")["share"].sum(), 1)
    table = frame.pivot_table(index="because", columns="procedure", values="mass", sort=False)
    assert found.plan.mass is not None
    assert np.array_equal(table.to_numpy(), found.plan.mass)
    assert model.unexplained(["V45.81"]).to_frame().empty
    near = model.neighbors("428.0", 2)
    assert near.to_frame()["code"].tolist() == [one.code for one in (*near.diagnoses, *near.procedures)]


def stays() -> pd.DataFrame:
    lists = [["428.0", "250.00"], ["V45.81"], ["038.9"], []]
    return pd.DataFrame(
        {"stay_id": list("abcd"), "diagnoses": lists, "ward": [1, 2, 3, 4]}, index=[9, 8, 7, 6]
    )


def test_a_frame_of_stays_gives_what_the_stream_gives(model: Model) -> None:
    frame = model.score_frame(stays(), top=2)
    batch = pa.RecordBatch.from_pandas(stays(), preserve_index=False)
    expected = pa.Table.from_batches(score_batches(model, [batch], 2)).to_pandas()
    pd.testing.assert_frame_equal(frame, expected)
    assert frame["stay_id"].tolist() == list("abcd")
    numbered = model.score_frame(stays().drop(columns="stay_id"))
    assert numbered["stay_id"].tolist() == [1, 2, 3, 4]
    arrow = model.score_frame(pa.table({"diagnoses": [["428.0"]]}), top=1)
    assert arrow["recommendations"].to_pylist() == [["icd9pcs:3722"]]
    with pytest.raises(InputError, match="takes a data frame"):
        model.score_frame([["428.0"]])
    with pytest.raises(InputError, match="one column diagnoses"):
        model.score_frame(stays().drop(columns="diagnoses"))


def test_many_stays_give_a_row_per_procedure_and_none_is_lost(model: Model) -> None:
    frame = model.recommend_many(stays(), top=2)
    assert frame["stay_id"].tolist() == ["a", "a", "b", "c", "c", "d"]
    assert frame["rank"].fillna(0).tolist() == [1, 2, 0, 1, 2, 0]
    for stay, codes in zip("ac", (QUESTION, ["038.9"]), strict=True):
        alone = model.recommend(codes, 2).to_frame()
        found = frame[frame["stay_id"] == stay]
        assert found["code"].tolist() == alone["code"].tolist()
        assert found["title"].tolist() == alone["title"].tolist()
        assert np.allclose(found["probability"], alone["probability"])
    assert frame[frame["stay_id"].isin(["b", "d"])]["code"].isna().all()
    lists = model.recommend_many([QUESTION, ["038.9"]], top=1)
    assert lists[["stay_id", "rank"]].to_numpy().tolist() == [[1, 1], [2, 1]]
    assert model.recommend_many([["V45.81"]])["code"].isna().tolist() == [True]
    with pytest.raises(InputError, match="one list of codes per stay"):
        model.recommend_many(["428.0"])


def test_a_frame_library_is_asked_for_only_where_it_is_missing(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = model.recommend("428.0")
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("dx2px.frames.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pandas or polars, and neither is installed"):
        answer.to_frame()
    assert answer.to_dict()["recommendations"]


def test_polars_comes_in_and_goes_out(model: Model) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"stay_id": ["a"], "diagnoses": [["428.0"]]})
    assert isinstance(model.score_frame(frame), polars.DataFrame)
    assert model.recommend_many(frame, top=1)["code"].to_list() == ["icd9pcs:3722"]


class Seen(HTMLParser):
    """The tags and texts of a fragment, all of which must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_the_flow_and_the_table(model: Model) -> None:
    answer = model.recommend([*QUESTION, "V45.81", "39.95"], top=2)
    seen = Seen(answer._repr_html_())
    assert seen.open == []
    assert seen.tags.count("svg") == 1
    assert seen.tags.count("tr") == 1 + 2
    assert "script" not in seen.tags
    for text in (
        "37.22",
        "Congestive heart failure",
        "because of",
        "not medical advice",
        "not used: V45.81",
        "39.95 is a procedure",
    ):
        assert text in seen.text
    hostile = model.unexplained(["<img src=x>"])._repr_html_()
    assert "<img" not in hostile


def test_ribbons_fill_their_bars() -> None:
    mass = np.array([[0.3, 0.1], [0.0, 0.2], [0.1, 0.3]])
    flow = Flow.of(mass)
    for i, bar in enumerate(flow.left):
        own = [one for one in flow.ribbons if one.row == i]
        assert sum(one.thickness for one in own) == pytest.approx(bar.height)
        assert own[0].left == pytest.approx(bar.y)
        assert own[-1].left + own[-1].thickness == pytest.approx(bar.y + bar.height)
    heights = np.array([bar.height for bar in flow.right])
    assert heights / heights.sum() == pytest.approx(mass.sum(axis=0) / mass.sum())
    for above, below in zip(flow.left, flow.left[1:], strict=False):
        assert below.middle - above.middle >= SLOT


@pytest.mark.parametrize(
    "given", [None, 5856, float("nan"), b"585.6", [5856], [["585.6"]], ["585.6", None], {"a": 1}]
)
def test_codes_that_are_not_texts_are_an_error_in_one_sentence(model: Model, given: Any) -> None:
    asked: list[Callable[[], object]] = [
        lambda: model.recommend(given),
        lambda: model.explain("428.0", [given]),
        lambda: model.recommend_many([given]),
        lambda: audit_stay(model, given, ["37.22"]),
        lambda: audit_stay(model, ["428.0"], given),
        lambda: model.neighbors(given),
        lambda: model.find(given),
        lambda: resolve(given),
        lambda: normalize(given, System.ICD9CM),
    ]
    for one in asked:
        with pytest.raises(InputError, match=r"text|one list of codes per stay"):
            one()


def test_names_in_place_of_a_model_or_a_cohort_are_an_error_in_one_sentence(tmp_path: Path) -> None:
    name: Any = "nhds2010"
    asked: list[tuple[str, Callable[[], object]]] = [
        ("model", lambda: audit_stay(name, ["585.6"], ["39.95"])),
        ("model", lambda: dx2px.audit_file(name, "stays.parquet")),
        ("model", lambda: dx2px.score_file(name, "stays.parquet", tmp_path / "answers.parquet")),
        ("model", lambda: dx2px.export(name, tmp_path / "vectors.txt")),
        ("cohort", lambda: dx2px.train(name)),
        ("cohort", lambda: dx2px.adapt(name)),
        ("cohort", lambda: dx2px.describe(name)),
        ("cohort", lambda: dx2px.split_cohort(name)),
    ]
    for what, one in asked:
        with pytest.raises(InputError, match=rf"^Give a {what}, as .* returns it, not a str\.$"):
            one()


@pytest.mark.parametrize("top", [0, -1, 2.5, float("nan"), None, "3"])
def test_a_number_of_results_is_a_whole_number(model: Model, top: Any) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        model.recommend("428.0", top)
    with pytest.raises(InputError, match="whole number of at least 1"):
        model.recommend_many([["428.0"]], top)
