"""The figure of one stay, looked at: nothing clipped, nothing overlapping, every number where its code is."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dx2px.answers import Explanation, Model
from dx2px.codes import System, dictionary, dotted
from dx2px.errors import InputError
from dx2px.report.explanation import explanation_figure, save_explanation
from dx2px.report.explanation_sheet import THEMES
from dx2px.report.explanation_words import percent
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS


def longest_titled(system: System, count: int) -> list[str]:
    """The codes with the longest titles, and one with a short one."""
    titles = dictionary(system)
    ordered = sorted(titles, key=lambda code: len(titles[code]))
    chosen = [*ordered[-count + 1 :], ordered[len(ordered) // 3]]
    return sorted(f"{system.value}:{code}" for code in chosen)


def drawn(
    method: str, diagnoses: list[str], procedures: list[str], evidence: EvidenceLayout | None = None
) -> ModelFiles:
    rng = np.random.default_rng(1)
    lengths = {"diagnosis": len(diagnoses), "procedure": len(procedures)}
    layouts = METHODS[method].arrays
    if evidence is not None:
        lengths["context"] = evidence.context
        layouts = METHODS[method].all_arrays
    shapes = {name: tuple(lengths.get(axis, 8) for axis in axes) for name, axes in layouts.items()}
    return ModelFiles(
        method=method,
        settings={} if evidence is None else {"evidence": evidence.to_dict()},
        diagnoses=tuple(diagnoses),
        procedures=tuple(procedures),
        arrays={name: np.asarray(rng.normal(size=shape), np.float32) for name, shape in shapes.items()},
        history=pa.table({"epoch": [1]}),
        card="# Drawn\n",
    )


@pytest.fixture(scope="module")
def large() -> Explanation:
    """41 diagnoses and 40 procedures, with the longest titles there are, a backed-off and an unknown code."""
    diagnoses = longest_titled(System.ICD9CM, 41)
    model = Model(drawn("coupling", diagnoses[:40], longest_titled(System.ICD9PCS, 40)))
    return model.explain([*diagnoses, "nonsense"], top=40)


@pytest.fixture(scope="module")
def small() -> Explanation:
    model = Model(
        drawn("e+sa+ma", ["icd9cm:25000", "icd9cm:4280", "icd9cm:5856"], ["icd9pcs:3722", "icd9pcs:3995"])
    )
    return model.explain(["585.6", "428.0", "250.00"], ["39.95", "37.22"])


def extents(figure: Any) -> list[tuple[str, float, Any]]:
    """Each text with its slant and its place in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    return [(text.get_text(), text.get_rotation(), text.get_window_extent(renderer)) for text in texts]


def pixels(figure: Any) -> np.ndarray:
    from matplotlib.image import imread

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=60)
    buffer.seek(0)
    return np.asarray(imread(buffer))[:, :, :3]


@pytest.mark.parametrize("size", ["small", "large", "with_evidence"])
def test_no_label_is_clipped_and_none_lies_on_another(size: str, request: pytest.FixtureRequest) -> None:
    figure = explanation_figure(request.getfixturevalue(size))
    width, height = figure.get_size_inches() * figure.dpi
    found = extents(figure)
    for text, _, box in found:
        assert 0 <= box.x0 < box.x1 <= width, text
        assert 0 <= box.y0 < box.y1 <= height, text
    level = [(text, box) for text, rotation, box in found if rotation == 0]
    for (one, a), (other, b) in itertools.combinations(level, 2):
        apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart, (one, other)


def test_every_code_of_a_large_stay_is_written(large: Explanation) -> None:
    texts = [text for text, _, _ in extents(explanation_figure(large))]
    assert len(large.plan.diagnoses) == 41
    for code in (*large.plan.diagnoses, *large.plan.procedures):
        assert dotted(code) in texts
    assert any("new to the model" in text for text in texts)
    assert any("nonsense" in text for text in texts)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_largest_mass_has_the_strongest_colour(small: Explanation, theme: Any) -> None:
    """Read back from the pixels: the heat of the cells follows their mass, towards ink on any sheet."""
    figure = explanation_figure(small, theme)
    picture = pixels(figure)
    sheet = np.array([int(THEMES[theme].sheet[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    assert np.abs(picture[0, 0] - sheet).max() < 0.01
    distance = np.abs(picture - sheet).sum(axis=2)
    assert (distance > 0.1).mean() > 0.01, "the sheet is not empty"
    mesh = figure.axes[0].collections[0]
    heat = np.asarray(mesh.get_array()).reshape(3, 2)
    assert np.array_equal(np.argsort(heat.ravel()), np.argsort(small.plan.mass.ravel()))
    cells = figure.axes[0].transData.transform(mesh.get_coordinates().reshape(-1, 2)).reshape(4, 3, 2)
    scale = 60 / figure.dpi
    found = []
    for row, column in np.ndindex(3, 2):
        x, y = (cells[row, column] * 0.88 + cells[row + 1, column + 1] * 0.12) * scale
        found.append(distance[round(picture.shape[0] - y), round(x)])
    assert int(np.argmax(found)) == int(np.argmax(heat))


def test_other_evidence_is_drawn_apart_below_the_diagnoses(with_evidence: Explanation) -> None:
    figure = explanation_figure(with_evidence)
    places = {text: box.y0 for text, _, box in extents(figure)}
    order = ["585.6", "428.0", "other evidence", "38.93", "age 75–84, female", "any stay"]
    heights = [places[text] for text in order]
    assert heights == sorted(heights, reverse=True)
    assert {"principal diagnosis", "coded"} <= places.keys()
    assert any("00.66" in text for text in places), "a coded procedure that is unknown is told"
    above, below = figure.axes[0].collections
    mass = with_evidence.plan.mass
    assert [len(mesh.get_array()) for mesh in (above, below)] == [2, 3]
    assert above.get_cmap() != below.get_cmap()
    heat = np.vstack([np.asarray(mesh.get_array()) for mesh in (above, below)])
    assert heat**2 * mass.max() == pytest.approx(mass[[0, 1, 2, 3, 5]])


def test_evidence_that_hardly_counts_is_one_line(with_evidence: Explanation) -> None:
    texts = [text for text, _, _ in extents(explanation_figure(with_evidence))]
    assert "below 1.0 % everywhere: elective admission" in texts
    assert "elective admission" not in texts


def test_a_transport_plan_has_no_rows_for_other_evidence(with_evidence: Explanation) -> None:
    files = drawn("coupling", ["icd9cm:4280", "icd9cm:5856"], ["icd9pcs:3722"], EvidenceLayout(2, 1, True))
    found = Model(files).explain(["428.0", "585.6"], ["37.22"], plan="transport")
    texts = [text for text, _, _ in extents(explanation_figure(found))]
    assert found.evidence
    assert {"428.0", "585.6"} <= set(texts)
    assert "other evidence" not in texts


def test_one_diagnosis_and_one_procedure(small: Explanation) -> None:
    model = Model(drawn("coupling", ["icd9cm:4280", "icd9cm:5856"], ["icd9pcs:3722", "icd9pcs:3995"]))
    figure = explanation_figure(model.explain(["428.0"], ["37.22"]))
    texts = [text for text, _, _ in extents(figure)]
    assert "100 %" in texts, "all significance is its own"
    assert {"428.0", "37.22"} <= set(texts)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_saved_twice_it_is_the_same_file(small: Explanation, tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        save_explanation(small, tmp_path / f"{name}.{ending}")
    first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 3000


def test_what_cannot_be_drawn_is_said(small: Explanation, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has another ending"):
        save_explanation(small, tmp_path / "e.gif")
    model = Model(drawn("coupling", ["icd9cm:4280"], ["icd9pcs:3722"]))
    for name in ("e.png", "e.html"):
        with pytest.raises(InputError, match="nothing to draw: the model knows none of the codes"):
            save_explanation(model.unexplained(["hello"]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_shares_are_short() -> None:
    assert [percent(share) for share in (0, 1e-6, 0.0234, 0.5, 1)] == [
        *("0 %", "< 0.1 %", "2.3 %", "50 %", "100 %")
    ]
