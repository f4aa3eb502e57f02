"""What coded procedures do to the levels of the others: the formula by hand, its reasons, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.ragged import Ragged
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.beside import Beside, CodedLevels
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import ModelFiles, read_folder, write_folder
from dx2px.scoring.known import Known
from dx2px.scoring.shares import shares_of
from synthetic_models import beside_files

D, P, M, F = 5, 9, 6, 3
LAYOUT = EvidenceLayout(D, P)
DIAGNOSES = Ragged.from_lists([[0, 3], [2], [1, 2, 4], [4], [0, 1]])
CODED = [[1, 4], [], [8], [], [0, 2, 5]]
ROWS = LAYOUT.rows(DIAGNOSES, Known.nothing(5).with_coded(Ragged.from_lists(CODED)))


def drawn(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


ARRAYS = {"V": drawn(P, M), "G": drawn(M, M), "g": drawn(M), "b": drawn(P)} | {
    f"{kind}{name}": drawn(size, *wide)
    for kind, size in {"": D, "coded_": P, "context_": LAYOUT.context}.items()
    for name, wide in {"U": [M], "s": []}.items()
}
LEVELS = CodedLevels(drawn(P, seed=1), Beside(drawn(P, F, seed=2), drawn(P, F, seed=3)))
SETTINGS = {"evidence": LAYOUT.to_dict()}
PLAIN, WITH = (CouplingScorer.of(arrays, SETTINGS) for arrays in (ARRAYS, ARRAYS | LEVELS.arrays))


def by_hand(stay: int) -> NDArray[np.float64]:
    """exp(h_d·v_p + s_d + b_p + l_p) of each row and procedure, loop by loop; 0 for what is coded."""
    kinds = ("", "coded_", "context_")
    U, s = (np.concatenate([ARRAYS[f"{kind}{name}"] for kind in kinds]).astype(float) for name in "Us")
    rows = ROWS[stay].tolist()
    c = sum(U[d] for d in rows) / np.sqrt(len(rows))
    gate = 1 + np.tanh(ARRAYS["G"].astype(float) @ c + ARRAYS["g"])
    found = np.zeros((len(rows), P))
    for p in set(range(P)) - set(CODED[stay]):
        level = float(ARRAYS["b"][p])
        if CODED[stay]:
            level += float(LEVELS.a[p])
        for r in CODED[stay]:
            level += sum(float(LEVELS.beside.A[r, f]) * float(LEVELS.beside.B[p, f]) for f in range(F))
        for place, d in enumerate(rows):
            found[place, p] = np.exp((U[d] * gate) @ ARRAYS["V"][p] + s[d] + level)
    return found


def test_scores_and_the_coupling_are_those_of_the_formula() -> None:
    scores, pi, significance = WITH.scores(ROWS), WITH.coupling(ROWS), WITH.significance(ROWS)
    for stay in range(5):
        mass, span = by_hand(stay), slice(*ROWS.offsets[stay : stay + 2])
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(scores[stay], np.log(mass.sum(axis=0)), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(pi[span], mass / mass.sum(), rtol=1e-3, atol=1e-7)
        np.testing.assert_allclose(significance[span], (mass / mass.sum()).sum(axis=1), rtol=1e-3)


def test_the_shares_in_a_procedure_are_exact_and_no_others_than_without_the_levels() -> None:
    stay, procedure = (ROWS.lengths > 0).nonzero()[0], np.full(5, 3)
    found = shares_of(WITH, ROWS, stay, procedure)
    np.testing.assert_array_equal(found, shares_of(PLAIN, ROWS, stay, procedure))
    expected = np.concatenate([by_hand(one)[:, 3] / by_hand(one)[:, 3].sum() for one in range(5)])
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    column = WITH.coupling(ROWS)[:, 3]
    totals = np.add.reduceat(column, ROWS.offsets[:-1])
    np.testing.assert_allclose(found, column / np.repeat(totals, ROWS.lengths), rtol=1e-5)


def test_stays_without_coded_procedures_are_answered_as_before_to_the_bit() -> None:
    for stay in range(5):
        alone = ROWS.take([stay])
        for ask in ("scores", "significance", "coupling"):
            same = np.array_equal(getattr(WITH, ask)(alone), getattr(PLAIN, ask)(alone))
            assert same == (not CODED[stay])
    np.testing.assert_array_equal(WITH.scores(ROWS)[[1, 3]], PLAIN.scores(ROWS)[[1, 3]])


def test_a_stay_alone_is_answered_as_among_others_to_the_bit() -> None:
    many = ROWS.take(np.arange(5000) % 5)
    scores, pi = WITH.scores(many), WITH.coupling(ROWS)
    for stay in range(5):
        alone = Ragged.from_lists([ROWS[stay]])
        np.testing.assert_array_equal(scores[stay::5], np.tile(WITH.scores(alone), (1000, 1)))
        np.testing.assert_array_equal(WITH.coupling(alone), pi[slice(*ROWS.offsets[stay : stay + 2])])


def levelled() -> ModelFiles:
    files = beside_files()
    levels = CodedLevels(drawn(4), Beside(drawn(4, 2), drawn(4, 2, seed=1)))
    return replace(files, arrays={**files.arrays, **levels.arrays})


def test_a_folder_keeps_the_levels_and_one_without_them_answers_as_it_did(tmp_path: Path) -> None:
    rows = LAYOUT_OF_FILES.with_coded(
        LAYOUT_OF_FILES.rows(Ragged.from_lists([[0, 1]])), Ragged.from_lists([[1]])
    )
    found = {}
    for name, files in (("with", levelled()), ("without", beside_files())):
        write_folder(tmp_path / name, files)
        found[name] = read_folder(tmp_path / name).scorer().scores(rows)
        np.testing.assert_array_equal(found[name], files.scorer().scores(rows))
    assert not np.array_equal(found["with"], found["without"])
    some = {name: array for name, array in levelled().arrays.items() if name != "beside_A"}
    with pytest.raises(ModelError, match="beside_A is missing"):
        write_folder(tmp_path / "broken", replace(levelled(), arrays=some))


LAYOUT_OF_FILES = EvidenceLayout(2, 4)


def test_a_new_procedure_starts_with_the_levels_of_those_that_stand_in() -> None:
    files = levelled()
    wider = BackOff(files, "procedure").rows(
        [*files.procedures, "icd9pcs:9999"], [(0,), (1,), (2,), (3,), (0, 1)]
    )
    for name in ("beside_a", "beside_A", "beside_B"):
        own = files.arrays[name]
        np.testing.assert_allclose(wider.arrays[name], [*own, own[:2].mean(axis=0)], rtol=1e-6)
