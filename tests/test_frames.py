"""Arrow columns that are made and read without loading pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dx2px.frames import filled, held_numbers, nothing, numbers, texts
from dx2px.scoring.folder import write_folder
from synthetic_models import partly_learned

SCORE = """
import sys
from dx2px.cli import main
sys.argv = ["dx2px", "score", "--model", *sys.argv[1:3], "--out", sys.argv[3]]
try:
    main()
except SystemExit as end:
    assert not end.code
print(*({"pandas", "torch", "numba"} & set(sys.modules)))
"""


def test_columns_are_those_that_arrow_makes() -> None:
    for values in (np.arange(5, dtype=np.int32), np.array([0.5, -1], np.float32), np.empty(0, np.int64)):
        assert numbers(values).equals(pa.array(values))
        np.testing.assert_array_equal(held_numbers(pa.array(values)), values)
    for words in (["a", "", "Ménière"], []):
        assert texts(words).equals(pa.array(words, pa.string()))
    assert nothing(pa.string()) == pa.scalar(None, pa.string())


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_gaps_are_filled_also_in_parts_of_a_column(kind: pa.DataType) -> None:
    column = pa.array([1, None, 3, None, 5], kind)
    assert filled(column, -1).tolist() == [1, -1, 3, -1, 5]
    assert filled(column.slice(2), -1).tolist() == [3, -1, 5]
    assert filled(column.slice(4), -1).tolist() == [5]
    assert filled(pa.chunked_array([column, column.slice(3)]), 0).tolist() == [1, 0, 3, 0, 5, 0, 5]
    assert filled(column.slice(0, 0), 7).tolist() == []


def test_scoring_a_file_loads_no_library_that_it_does_not_need(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", partly_learned("coupling", 0))
    lists = pa.array([["4000", "4004"], None, ["4001"]], pa.list_(pa.string()))
    pa.parquet.write_table(pa.table({"stay_id": [1, 2, 3], "diagnoses": lists}), tmp_path / "C.parquet")
    places = [str(tmp_path / name) for name in ("model", "C.parquet", "R.parquet")]
    done = subprocess.run([sys.executable, "-c", SCORE, *places], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
