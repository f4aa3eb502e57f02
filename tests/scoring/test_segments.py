"""Products whose rows are the same, to the bit, wherever they stand, on whatever processor."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dx2px.ragged import Ragged
from dx2px.scoring import blas
from dx2px.scoring.factor import Factor
from dx2px.scoring.segments import Places

WIDTHS = [1, 2, 16, 63, 64, 65, 130, 300]
# The kernels of OpenBLAS for processors without AVX, with AVX, with AVX2, and whatever fits this one.
KERNELS = ["Prescott", "Sandybridge", "Haswell", ""]
EVERYWHERE = """
import numpy as np
from dx2px.scoring.factor import Factor
rng = np.random.default_rng(0)
for inner, columns in ((200, 258), (32, 75), (695, 32), (200, 1), (200, 819)):
    factor = Factor(rng.standard_normal((inner, columns)).astype(np.float32))
    left = rng.standard_normal((441, inner)).astype(np.float32)
    whole = left @ factor
    for count in (*range(1, 20), 100, 200):
        for start in (0, 3, 180, 441 - count):
            assert (left[start : start + count] @ factor == whole[start : start + count]).all()
"""


def product(columns: int, rows: int = 37) -> tuple[np.ndarray, np.ndarray, Factor]:
    rng = np.random.default_rng(columns)
    left, right = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, 200), (200, columns)))
    return left, left.astype(np.float64) @ right, Factor(right)


@pytest.mark.parametrize("columns", WIDTHS)
def test_it_is_the_product(columns: int) -> None:
    left, wanted, factor = product(columns)
    np.testing.assert_allclose(left @ factor, wanted, atol=2e-4)
    assert (left[:0] @ factor).shape == (0, columns)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_is_the_same_wherever_it_stands(kernel: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    environment |= {"OPENBLAS_CORETYPE": kernel} if kernel else {}
    subprocess.run([sys.executable, "-c", EVERYWHERE], env=environment, check=True)


@pytest.mark.parametrize("alike", [(16, 8, 4), (8, 4), (8,), ()])
def test_the_shape_is_one_that_treats_rows_alike(
    alike: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Factor, "_same", lambda self, height: height in alike)
    left, wanted, factor = product(130)
    assert factor._shape.rows == (max(alike) if alike else 8)
    precision = np.float32 if alike else np.float64
    assert {strip.dtype for strip in factor._strips} == {np.dtype(precision)}
    found = left @ factor
    np.testing.assert_allclose(found, wanted, atol=2e-4)
    if not alike:  # summed in double precision and rounded once
        np.testing.assert_array_equal(found, wanted.astype(np.float32))


@pytest.mark.skipif(not blas.can_hold(), reason="numpy multiplies by another library")
def test_openblas_has_its_threads_again_once_all_have_multiplied() -> None:
    get, hold = blas._functions()  # type: ignore[misc]
    before = get()
    try:
        hold(3)
        with blas.one_thread():
            with blas.one_thread():
                assert get() == 1
            assert get() == 1
        assert get() == 3
    finally:
        hold(before)


@pytest.mark.skipif(not blas.can_hold(), reason="numpy multiplies by another library")
def test_a_processor_with_avx2_multiplies_tall_products() -> None:
    """Small ones are the fallback where OpenBLAS treats no tall one alike: they take half as long again."""
    code = "import numpy as np; from dx2px.scoring.factor import Factor; right = np.ones((200, 819), np.float32); "
    code += "print(Factor(right * np.cos(np.arange(819, dtype=np.float32)))._shape.rows)"
    environment = os.environ | {"OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    assert int(done.stdout) == 192


def test_places_lay_out_sums_and_peaks_of_rows() -> None:
    rng = np.random.default_rng(0)
    rows = Ragged.from_lists([[0] * length for length in (2, 5, 1, 3, 5)])
    values = rng.standard_normal((len(rows.values), 4)).astype(np.float32)
    places = Places(rows)
    placed = values[places.entries]
    parts = np.split(values, rows.offsets[1:-1])
    np.testing.assert_array_equal(places.in_entry_order(placed), values)
    peaks, sums = (places.in_first_order(found(placed)) for found in (places.peaks, places.sum))
    np.testing.assert_array_equal(peaks, [part.max(axis=0) for part in parts])
    np.testing.assert_array_equal(sums, [part.sum(axis=0) for part in parts])
    np.testing.assert_array_equal(places.order[places.rank], np.arange(len(rows)))
    for part in parts:  # a single row takes a shorter way to the same numbers
        alone = Places(Ragged.from_lists([[0] * len(part)]))
        together = places.in_first_order(places.log_sum_exp(placed.copy()))
        at = next(place for place, other in enumerate(parts) if other is part)
        np.testing.assert_array_equal(alone.log_sum_exp(part.copy())[0], together[at])
