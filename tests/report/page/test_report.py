"""The report: its numbers are those of the measures, it holds no id and no small count, and nothing from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dx2px.answers import Model
from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.report.page import Content, ReportConfig, measure, report_page, save_report
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.measured import learning_part
from dx2px.scoring.metrics import evaluate
from dx2px.training.run import learn


class Tables(HTMLParser):
    """The rows of each section's tables, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.text: dict[str, str] = {}
        self.section, self.cell = "head", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.section = str(dict(attrs)["id"]) if tag == "section" else self.section
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")
        self.cell = tag in ("td", "th") or (self.cell and tag != "p")

    def handle_endtag(self, tag: str) -> None:
        self.cell = False if tag in ("td", "th") else self.cell

    def handle_data(self, data: str) -> None:
        self.text[self.section] = self.text.get(self.section, "") + data
        if self.cell:
            self.rows[self.section][-1][-1] += data


def told(files: ModelFiles, cohort: Cohort, **settings: Any) -> Content:
    config = ReportConfig(**settings)
    return measure(Model(files), cohort, config, name="planted", cohort_name="C.parquet")


@pytest.fixture(scope="module")
def content(files: ModelFiles, cohort: Cohort) -> Content:
    return told(files, cohort)


@pytest.fixture(scope="module")
def page(content: Content) -> str:
    return report_page(content)


def test_the_table_is_what_evaluate_measures_on_the_test_part(
    page: str, files: ModelFiles, cohort: Cohort
) -> None:
    test = learning_part(files, cohort, "test")
    expected = evaluate(Model(files).scorer.scores, test.diagnoses, test.procedures)
    rows = Tables(page).rows["accuracy"][1:]
    for row, L in zip(rows, expected.at, strict=True):
        shown = [float(cell.split()[0]) for cell in row[1:4]]
        means = [expected.mean(name)[L] for name in ("recall", "precision", "f1")]
        assert shown == pytest.approx(means, abs=0.051)
    assert f"Means over {len(test):,} stays" in Tables(page).text["accuracy"]


def test_synthetic_stays_are_called_so(files: ModelFiles, cohort: Cohort) -> None:
    content = told(files, replace(cohort, provenance={"source": "synthetic", "settings": {"stays": 2000}}))
    text = Tables(report_page(content)).text
    assert "no patient is behind them" in text["head"]
    assert "keep this page as safe" not in text["stays"]
    assert "stays 2,000" in text["cohort"]
    assert "Kidney failure on dialysis" in text["package"]
    found = Tables(report_page(content)).rows["package"]
    assert found[1:5][2][0] == "top 5"
    assert found[5] == ["ICD-9-CM", "procedure", "probability"]
    assert found[6][:2] == ["79.35", "Open reduction of fracture with internal fixation, femur"]
    page = report_page(content)
    assert page.index("A heart attack, with diabetes") < page.index("stays measured"), (
        "real answers come first"
    )


def test_popularity_stands_beside_the_model(content: Content) -> None:
    assert content.popular is not None
    counts = content.model.files.procedure_counts
    assert counts is not None
    most = int(np.argmax(counts))
    coded = [most in content.measured.stays.procedures[row] for row in range(len(content.metrics))]
    assert content.popular.precision[:, 0].mean() == pytest.approx(np.mean(coded))


def test_no_id_of_a_stay_or_patient_is_told(page: str) -> None:
    assert "secret" not in page
    assert "person-" not in page


def test_numbers_of_stays_below_eleven_are_told_nowhere(page: str) -> None:
    tables = Tables(page)
    for name, column in (("breakdown", 1), ("cohort", 1)):
        cells = [row[column].replace(",", "") for row in tables.rows[name]]
        numbers = [int(cell) for cell in cells if cell.isdecimal()]
        assert numbers
        assert min(numbers) >= 11
    bars = [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) stays</title>", page)]
    assert min(bars) >= 11
    assert sum(bars) == 2 * 600


def test_every_section_is_there_and_linked(page: str) -> None:
    links = re.findall(r'<a href="#([a-z]+)">', page)
    assert links == re.findall(r'<section id="([a-z]+)"', page)
    assert links == [
        *("accuracy", "breakdown", "confusions", "calibration", "stays", "map", "neighbours"),
        *("cohort", "training", "settings", "card"),
    ]


def test_nothing_comes_from_elsewhere_and_markup_in_the_card_is_text(page: str) -> None:
    assert "default-src 'none'" in unescape(page)
    assert not re.search(r"<(img|link|iframe|object|embed)\b|src=|url\(", page)
    assert re.findall(r'href="(?!#)([^"]*)"', page) == ["https://data.example/"]  # the card's own link
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<script") == 2  # the map's data and the page's own


def test_stays_are_explained_by_the_rule_and_their_shares_sum_to_one(content: Content) -> None:
    assert len(content.stays) == 10
    for one in content.stays:
        codes = [d.code for d in one.explanation.diagnoses]
        assert 3 <= len(codes) <= 8
        assert "icd9cm:V3000" not in codes  # five training stays are too few
        assert sum(d.significance for d in one.explanation.diagnoses) == pytest.approx(1)
        ranks = [p.rank for p in one.explanation.procedures]
        assert ranks[:5] == [1, 2, 3, 4, 5]
        assert one.coded <= {p.code for p in one.explanation.procedures}
        for procedure in one.explanation.procedures:
            assert sum(reason.share for reason in procedure.because) == pytest.approx(1)


def test_the_page_says_which_procedures_were_coded(page: str, content: Content) -> None:
    hits = sum(len(one.coded) for one in content.stays)
    assert page.count("✓ coded") == hits
    assert "keep this page as safe as the cohort" in page


def test_no_stays_when_none_are_asked_for(files: ModelFiles, cohort: Cohort) -> None:
    text = Tables(report_page(told(files, cohort, stays=0))).text["stays"]
    assert "No stays are shown" in text


def test_a_negative_number_of_stays_is_refused() -> None:
    with pytest.raises(InputError, match="0 or more"):
        ReportConfig(stays=-1)


def test_curves_calibration_and_scope_are_told(page: str, content: Content) -> None:
    text = Tables(page).text
    assert "predictive loss" in text["training"]
    assert "transport loss" in text["training"]
    assert content.trust is not None
    assert f"{content.trust.top.ece:.4f}" in text["calibration"]
    assert "not medical advice" in text["head"]
    assert "ICD-9-CM codes that the model knows" in text["head"]


def test_a_method_without_transport_has_a_loss_curve_and_no_other(files: ModelFiles, cohort: Cohort) -> None:
    own = files.history.select(["epoch", "loss_predictive", "validation_f1"])
    text = Tables(report_page(told(replace(files, history=own), cohort, stays=0))).text["training"]
    assert "predictive loss" in text
    assert "validation F1@5" in text
    assert "transport loss" not in text


def test_another_part_can_be_measured(files: ModelFiles, cohort: Cohort) -> None:
    content = measure(
        Model(files), cohort, ReportConfig(stays=0, part="all"), name="x", cohort_name="C.parquet"
    )
    assert len(content.metrics) == 600
    assert "600 stays (all stays)" in report_page(content)


def test_so_few_stays_that_their_number_may_not_be_told_have_no_report(files: ModelFiles) -> None:
    few = Cohort.from_lists([["icd9cm:4280"]] * 10, [["icd9pcs:9390"]] * 10)
    with pytest.raises(InputError, match="no count below 11"):
        told(files, few)


def test_a_foreign_cohort_tells_what_was_set_aside(files: ModelFiles) -> None:
    foreign = Cohort.from_lists(
        [["icd9cm:4280", "icd9cm:0010"], ["icd9cm:486", "icd9cm:4280"]] * 20,
        [["icd9pcs:9390"], ["icd9pcs:9671", "icd9pcs:0010"]] * 20,
    )
    page = report_page(told(files, foreign))
    assert "1 of 3 distinct diagnoses (20 of 80 entries) are unknown to the model" in page
    assert "40 of 40 stays still have a diagnosis and a procedure" in page


def test_a_model_without_vectors_calibration_counts_or_curves_has_a_report(
    files: ModelFiles, cohort: Cohort
) -> None:
    bare = replace(
        files,
        method="popularity",
        arrays={
            "seen": np.ones(len(files.diagnoses), np.float32),
            "popularity": np.arange(len(files.procedures), dtype=np.float32),
        },
        calibration=None,
        history=files.history.slice(0, 0),
        diagnosis_counts=None,
        procedure_counts=None,
    )
    page = report_page(told(bare, cohort))
    text = Tables(page).text
    assert "have no vectors of codes" in text["map"]
    assert "ranks procedures without probabilities" in text["calibration"]
    assert "has no curves" in text["training"]
    assert "neighbours" not in text


def test_a_model_with_evidence_is_measured_with_and_without_it(cohort: Cohort) -> None:
    """Sex is known of all stays: it is shared by many, so that shown stays are explained with it."""
    config = CouplingTraining(epochs=3, batch_size=50, model=CouplingConfig(dim=8))
    trained = learn(cohort, CouplingModel(config), threads=1)
    content = told(trained.files(), cohort)
    codes = trained.evaluate("test", "codes")
    assert content.facts == ("sex",)
    assert content.codes is not None
    assert content.codes.to_dict() == codes.to_dict()
    tables = Tables(report_page(content))
    heads, *rows = tables.rows["accuracy"]
    at = heads.index("F1 from diagnoses alone (%)")
    assert [float(row[at]) for row in rows] == pytest.approx(list(codes.mean("f1").values()), abs=0.051)
    assert "Of these the model sees sex alone" in tables.text["breakdown"]
    for one in content.stays:
        assert one.facts["sex"] in "FM"
        assert [p.rank for p in one.explanation.procedures][:5] == [1, 2, 3, 4, 5]
        rows = [*one.explanation.diagnoses, *one.explanation.evidence]
        assert sum(row.significance for row in rows) == pytest.approx(1)
    assert content.stays
    shown = [row[0] for row in tables.rows["stays"]]
    assert shown.count("any stay") == len(content.stays)
    assert shown.count("male") + shown.count("female") == len(content.stays)


def test_the_same_report_twice(content: Content, page: str) -> None:
    assert report_page(content) == page


def test_a_report_is_whole_or_not_there(
    content: Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.html").write_text("the last one")

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dx2px.storage.sync_file", full)
    with pytest.raises(OSError, match="No space"):
        save_report(content, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "the last one"
