"""Model folders: a round trip, every kind of damage refused with a sentence, and kills that leave no half."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

from dx2px.cohort import Cohort, Split, split_cohort
from dx2px.errors import ModelError
from dx2px.scoring.folder import (
    ModelFiles,
    config_file,
    entries,
    files,
    read_folder,
    replacement,
    tables,
    write_folder,
)
from dx2px.scoring.methods import METHODS

DIAGNOSES = ("icd10cm:I500", "icd9cm:25000", "icd9cm:4280", "icd9cm:V4581")
PROCEDURES = ("icd9pcs:0017", "icd9pcs:3722", "icd9pcs:3995")
DIM, HEADS = 5, 2
LENGTHS = {"diagnosis": len(DIAGNOSES), "procedure": len(PROCEDURES), "dim": DIM, "head": HEADS}
SENTENCE = re.compile(r"[^\n]{10,400}[^.]\.")


def arrays(method: str = "e+sa+ma", seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {name: tuple(LENGTHS[axis] for axis in axes) for name, axes in METHODS[method].arrays.items()}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def split() -> Split:
    return split_cohort(Cohort.from_lists([[DIAGNOSES[0]]] * 30, [[PROCEDURES[0]]] * 30), folds=3)


def model(method: str = "e+sa+ma", seed: int = 0) -> ModelFiles:
    return ModelFiles(
        method=method,
        settings={"model": {"dim": DIM, "alpha": 0.1}, "seed": seed, "note": "für später"},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays(method, seed),
        history=pa.table({"epoch": [1, 2], "loss": [0.5, 0.25]}),
        card="# A model\n\nSee https://example.org/a/b/c for more; precision/recall/F1.\n",
        diagnosis_counts=(4, 3, 2, 1),
        procedure_counts=(3, 2, 1),
        split=split().to_bytes(),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    write_folder(path, model())
    return path


def bytes_of(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def fill(path: Path, contents: dict[str, bytes]) -> None:
    path.mkdir(exist_ok=True)
    for entry in path.iterdir():
        entry.unlink()
    for name, data in contents.items():
        (path / name).write_bytes(data)


def vouch(contents: dict[str, bytes], **changes: Any) -> dict[str, bytes]:
    """The contents with a config.json that vouches for them: what a careful forger would write."""
    record = json.loads(contents["config.json"])
    for name in ("kind", "format", "digest"):
        del record[name]
    record["files"] = {
        name: config_file.sha256(data) for name, data in contents.items() if name != "config.json"
    }
    record["sizes"] = {name: len(contents[name]) for name in record["files"]}
    if "weights.safetensors" in contents and "arrays" not in changes:
        try:
            loaded = safetensors.numpy.load(contents["weights.safetensors"])
            record["arrays"] = files._shapes(loaded)
        except Exception:
            pass
    return contents | {"config.json": config_file.render(record | changes)}


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_folder(path)
    message = str(caught.value)
    assert SENTENCE.fullmatch(message), message
    return message


# A round trip


RATES = {"recall": 38.25, "precision": 62, "f1": 44.5}
MEASURED = {"stays": 40, "top": {"3": RATES, "10": RATES}, "calibration": {"stays": 40}}
ELSEWHERE = {"cohort": "a demo", "stays": 9, "f1": {"1": 20, "3": 21.5, "10": 12}, "verdict": "It ranks."}


def test_what_was_measured_is_kept_as_numbers(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", replace(model(), measured=MEASURED))
    found = read_folder(tmp_path / "m").measured
    assert found == MEASURED
    assert list(found["top"]) == ["3", "10"], "by number, not as text"
    both = MEASURED | {"codes": MEASURED["top"], "external": [ELSEWHERE | {"gap": None}]}
    write_folder(tmp_path / "both", replace(model(), measured=both))
    kept = read_folder(tmp_path / "both").measured
    assert kept == both
    assert list(kept["codes"]) == ["3", "10"]
    assert list(kept["external"][0]["f1"]) == ["1", "3", "10"]
    write_folder(tmp_path / "old", model())
    assert read_folder(tmp_path / "old").measured is None, "folders of earlier versions have none"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stays": 0}, "do not say on how many stays"),
        ({"stays": True}, "do not say on how many stays"),
        ({"top": {"three": RATES}}, "are not recall, precision and F1"),
        ({"top": {"3": {"recall": 38.25}}}, "are not recall, precision and F1"),
        ({"top": {"3": RATES | {"f1": 101}}}, "are not recall, precision and F1"),
        ({"codes": {"3": RATES | {"f1": -1}}}, "are not recall, precision and F1"),
        ({"codes": "good"}, "are not recall, precision and F1"),
        ({"top": []}, "are not recall, precision and F1"),
        ({"calibration": "good"}, "entries that do not belong"),
        ({"part": "test"}, "entries that do not belong"),
        ({"external": {}}, "numbers on other cohorts"),
        ({"external": [ELSEWHERE | {"stays": 0}]}, "numbers on other cohorts"),
        ({"external": [ELSEWHERE | {"f1": {"5": 101}}]}, "numbers on other cohorts"),
    ],
)
def test_measured_numbers_that_cannot_be_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        write_folder(tmp_path / "m", replace(model(), measured=MEASURED | change))


@pytest.mark.parametrize("method", METHODS)
def test_what_was_written_is_read(tmp_path: Path, method: str) -> None:
    written = model(method)
    write_folder(tmp_path / "m", written)
    found = read_folder(tmp_path / "m")
    for name in ("method", "settings", "diagnoses", "procedures", "card", "split", "version"):
        assert getattr(found, name) == getattr(written, name)
    assert (found.diagnosis_counts, found.procedure_counts) == ((4, 3, 2, 1), (3, 2, 1))
    assert found.history.equals(written.history)
    assert found.arrays.keys() == written.arrays.keys()
    assert all(np.array_equal(found.arrays[name], array) for name, array in written.arrays.items())


def test_split_and_counts_are_optional_and_the_split_is_read_from_its_file(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", model())
    assert np.array_equal(Split.load(tmp_path / "m" / "split.parquet").part, split().part)
    write_folder(tmp_path / "m", replace(model(), split=None, diagnosis_counts=None, procedure_counts=None))
    found = read_folder(tmp_path / "m")
    assert (found.split, found.diagnosis_counts, found.procedure_counts) == (None, None, None)


def test_half_precision_halves_the_weights_and_is_read_as_rounded(tmp_path: Path) -> None:
    made = model()
    write_folder(tmp_path / "whole", made)
    write_folder(tmp_path / "half", made, half=True)
    found = read_folder(tmp_path / "half").arrays
    for name, array in made.arrays.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], array.astype(np.float16).astype(np.float32))
    sizes = [(tmp_path / kind / "weights.safetensors").stat().st_size for kind in ("whole", "half")]
    assert sizes[1] < 0.6 * sizes[0] + 1000


def test_what_half_precision_cannot_hold_is_not_written(tmp_path: Path) -> None:
    huge = model()
    huge.arrays["U"][0, 0] = 1e6
    with pytest.raises(ModelError, match="U holds values that are not finite"):
        write_folder(tmp_path / "half", huge, half=True)
    assert not list(tmp_path.iterdir())


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", model())
    write_folder(tmp_path / "two", model())
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_views_and_other_layouts_in_memory_are_written_by_value(tmp_path: Path) -> None:
    flipped = arrays() | {"U": np.asfortranarray(arrays()["U"]), "b": np.repeat(arrays()["b"], 2)[::2]}
    write_folder(tmp_path / "m", replace(model(), arrays=flipped))
    assert all(np.array_equal(read_folder(tmp_path / "m").arrays[k], v) for k, v in arrays().items())


def test_every_file_has_the_usual_mode(folder: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    assert {entry.stat().st_mode & 0o777 for entry in folder.iterdir()} == {0o666 & ~umask}
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


# Damage


def flips(contents: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Bytes changed in every file, spread over its whole length."""
    draw = random.Random(0)
    for name, data in contents.items():
        for place in np.linspace(0, len(data) - 1, 30).astype(int).tolist():
            changed = bytearray(data)
            changed[place] ^= draw.randrange(1, 256)
            yield contents | {name: bytes(changed)}


def truncations(contents: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    for name, data in contents.items():
        for share in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
            yield contents | {name: data[: int(share * len(data))]}
        yield contents | {name: data[:-1]}
        yield contents | {name: data + b"\0"}
        yield contents | {name: data + b"\n"}


def swaps(contents: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    names = sorted(contents)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            yield contents | {one: contents[other], other: contents[one]}


def absences(contents: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    for name in contents:
        yield {other: data for other, data in contents.items() if other != name}
    for name in ("notes.txt", "weights.pt", ".hidden", "model.pkl"):
        yield contents | {name: b"anything"}


def test_over_200_damaged_folders_are_refused(folder: Path) -> None:
    whole = bytes_of(folder)
    count = 0
    for damage in (flips, truncations, swaps, absences):
        for contents in damage(whole):
            fill(folder, contents)
            refusal(folder)
            count += 1
    assert count >= 200
    fill(folder, whole)
    assert read_folder(folder).method == "e+sa+ma"


def text_edit(old: str, new: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    def edit(contents: dict[str, bytes]) -> dict[str, bytes]:
        text = contents["config.json"].decode()
        assert old in text
        return contents | {"config.json": text.replace(old, new, 1).encode()}

    return edit


EDITS = {
    "future format": ('"format": 1', '"format": 2', "install a newer dx2px"),
    "no format": ('"format": 1', '"format": "1"', "which format"),
    "format below 1": ('"format": 1', '"format": 0', "which format"),
    "another mark": ('"dx2px model"', '"bert"', "not of a dx2px model"),
    "not JSON": ("{", "", "not valid JSON"),
    "NaN": ("0.1", "NaN", "not valid JSON"),
    "repeated entry": ('"method"', '"method": "e+sa",\n  "method"', "repeats an entry"),
    "a list": ("{", "[{", "not valid JSON"),
    "changed setting": ('"alpha": 0.1', '"alpha": 0.2', "changed after it was written"),
    "changed layout": ('"alpha": 0.1', '"alpha":  0.1', "changed after it was written"),
    "changed spelling": ('"alpha": 0.1', '"alpha": 1e-1', "changed after it was written"),
    "changed method": ('"e+sa+ma"', '"e+sa"', "changed after it was written"),
    "extra entry": ('"digest"', '"code": "x",\n  "digest"', "entries"),
    "missing entry": ('"settings"', '"setting"', "entries"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_config_is_refused(folder: Path, name: str) -> None:
    old, new, expected = EDITS[name]
    fill(folder, text_edit(old, new)(bytes_of(folder)))
    assert expected in refusal(folder)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b"[]", b"7", b"", b"\xff\xfe{}", b'{"format": ' + b"9" * 5000]
)
def test_a_hostile_config_is_refused(folder: Path, data: bytes) -> None:
    (folder / "config.json").write_bytes(data)
    refusal(folder)


def with_arrays(
    change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]],
) -> Callable[..., dict[str, bytes]]:
    def damage(contents: dict[str, bytes]) -> dict[str, bytes]:
        return vouch(contents | {"weights.safetensors": safetensors.numpy.save(change(arrays()))})

    return damage


def with_vocabulary(change: Callable[[dict[str, list[Any]]], Any]) -> Callable[..., dict[str, bytes]]:
    def damage(contents: dict[str, bytes]) -> dict[str, bytes]:
        table = pq.read_table(io.BytesIO(contents["vocabulary.parquet"]))
        rows = table.to_pydict()
        change(rows)
        schema = table.schema if rows.keys() == set(table.schema.names) else None
        return vouch(contents | {"vocabulary.parquet": parquet(pa.table(rows, schema=schema))})

    return damage


def with_file(name: str, data: bytes) -> Callable[..., dict[str, bytes]]:
    return lambda contents: vouch(contents | {name: data})


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def spoilt(name: str, value: float) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    def change(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found[name].reshape(-1)[-1] = value
        return found

    return change


def assign(rows: dict[str, list[Any]], column: str, index: int, value: Any) -> None:
    rows[column][index] = value


FORGERIES: dict[str, tuple[Callable[[dict[str, bytes]], dict[str, bytes]], str]] = {
    "NaN weight": (with_arrays(spoilt("U", np.nan)), "U holds values that are not finite"),
    "weight whose products overflow": (with_arrays(spoilt("U", 3e38)), "U holds values that are not finite"),
    "infinite weight": (with_arrays(spoilt("b", np.inf)), "b holds values that are not finite"),
    "double precision": (with_arrays(lambda a: a | {"V": a["V"].astype(np.float64)}), "V holds float64"),
    "integers": (with_arrays(lambda a: a | {"V": a["V"].view(np.int32)}), "V holds int32"),
    "missing array": (with_arrays(lambda a: {k: v for k, v in a.items() if k != "B"}), "array B is missing"),
    "extra array": (with_arrays(lambda a: a | {"Z": a["U"]}), "'Z' does not belong"),
    "a row too few": (with_arrays(lambda a: a | {"U": a["U"][:-1].copy()}), "U is 3 × 5, not 4 × 5"),
    "transposed": (with_arrays(lambda a: a | {"V": a["V"].T.copy()}), "V is 5 × 3"),
    "other dimension": (with_arrays(lambda a: a | {"a": a["a"][:, :-1].copy()}), "a is 2 × 4, not 2 × 5"),
    "other heads": (with_arrays(lambda a: a | {"b": a["b"][:1].copy()}), "b is 1, not 2"),
    "flat": (with_arrays(lambda a: a | {"A": a["A"].reshape(-1)}), "A is 50, not"),
    "no dimensions": (with_arrays(lambda a: a | {k: a[k][:, :0].copy() for k in "UV"}), "U is 4 × 0"),
    "another method's arrays": (lambda c: vouch(c, method="e+ma"), "'A' does not belong"),
    "unknown method": (lambda c: vouch(c, method="oracle"), "does not know the method 'oracle'"),
    "undeclared shapes": (lambda c: vouch(c, arrays={}), "does not hold the arrays"),
    "pickle for weights": (
        with_file("weights.safetensors", pickle.dumps(arrays())[:400].ljust(700, b".")),
        "not a readable safetensors",
    ),
    "numpy for weights": (
        with_file("weights.safetensors", b"\x93NUMPY\x01\x00"),
        "does not hold the arrays",
    ),
    "swapped codes": (
        with_vocabulary(lambda r: r["code"].__setitem__(slice(0, 2), r["code"][1::-1])),
        "out of order",
    ),
    "duplicate code": (
        with_vocabulary(lambda r: assign(r, "code", 1, r["code"][0])),
        "diagnosis codes repeat",
    ),
    "code with a blank": (with_vocabulary(lambda r: assign(r, "code", 3, "icd9cm:V4 81")), "not canonical"),
    "code without system": (with_vocabulary(lambda r: assign(r, "code", 0, "4280")), "not canonical"),
    "index gap": (with_vocabulary(lambda r: assign(r, "index", 2, 9)), "out of order"),
    "kinds mixed": (with_vocabulary(lambda r: assign(r, "kind", 0, "procedure")), "out of order"),
    "unknown kind": (with_vocabulary(lambda r: assign(r, "kind", 6, "drug")), "out of order"),
    "negative count": (with_vocabulary(lambda r: assign(r, "count", 0, -1)), "counts"),
    "a count missing": (with_vocabulary(lambda r: assign(r, "count", 0, None)), "counts"),
    "column missing": (with_vocabulary(lambda r: r.pop("count")), "columns of a vocabulary"),
    "column more": (with_vocabulary(lambda r: r.update(patient=["x"] * 7)), "columns of a vocabulary"),
    "a code fewer": (
        with_vocabulary(lambda r: [column.pop() for column in r.values()]),
        "V is 3 × 5, not 2 × 5",
    ),
    "no procedures": (
        with_vocabulary(lambda r: [c.__delitem__(slice(4, 7)) for c in r.values()]),
        "no procedure",
    ),
    "vocabulary not Parquet": (with_file("vocabulary.parquet", b"kind,index,code"), "not a readable Parquet"),
    "history of text": (with_file("history.parquet", parquet(pa.table({"stay": ["17"]}))), "not numbers"),
    "history not Parquet": (with_file("history.parquet", b""), "not a readable Parquet"),
    "split with identifiers": (
        with_file("split.parquet", parquet(pa.table({"stay_id": ["17"]}))),
        "saved split",
    ),
    "card not text": (with_file("MODEL_CARD.md", b"\xff\xfe"), "not UTF-8"),
    "file unvouched": (lambda c: vouch(c, files={}, sizes={}), "does not know its"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_consistent_folder_with_wrong_content_is_refused(folder: Path, name: str) -> None:
    damage, expected = FORGERIES[name]
    fill(folder, damage(bytes_of(folder)))
    assert expected in refusal(folder)


def test_other_things_than_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").mkdir()
    assert "no such folder" in refusal(tmp_path / "none")
    assert "is a file" in refusal(tmp_path / "file")
    assert "no config.json" in refusal(tmp_path / "empty")
    assert "config.json is not a regular file" in refusal(tmp_path / "odd")


# What is no file, too large, or unpacks to too much: refused before it is read


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 200_000_000_000)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


NO_FILES = {
    pipe: "is not a regular file",
    endless: "is not a regular file",
    huge: "more than the",
    dangling: "link to a file that does not exist",
}


@pytest.mark.parametrize("name", sorted(files.ALLOWED))
@pytest.mark.parametrize("make", NO_FILES)
def test_only_regular_files_of_a_likely_size_are_read(
    folder: Path, name: str, make: Callable[[Path], None]
) -> None:
    (folder / name).unlink()
    make(folder / name)
    assert f"{name} " in (message := refusal(folder))
    assert NO_FILES[make] in message
    if name == "config.json":
        with pytest.raises(ModelError, match="no dx2px model"):
            write_folder(folder, model())


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path, folder: Path) -> None:
    (folder / "weights.safetensors").rename(tmp_path / "blob")
    (folder / "weights.safetensors").symlink_to(tmp_path / "blob")
    assert np.array_equal(read_folder(folder).arrays["U"], arrays()["U"])


def test_sizes_are_checked_where_config_names_them_and_may_be_absent(folder: Path) -> None:
    whole = bytes_of(folder)
    record = json.loads(whole["config.json"])
    assert record["sizes"] == {name: len(data) for name, data in whole.items() if name != "config.json"}
    fill(folder, vouch(whole, sizes=record["sizes"] | {"MODEL_CARD.md": 3}))
    assert "MODEL_CARD.md is damaged or was changed" in refusal(folder)
    fill(folder, vouch(whole, sizes={"MODEL_CARD.md": 3}))
    assert "size of each file" in refusal(folder)
    for name in ("sizes", "kind", "format", "digest"):
        del record[name]
    fill(folder, whole | {"config.json": config_file.render(record)})
    assert read_folder(folder).method == "e+sa+ma", "folders of earlier versions name no sizes"


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"Z": [490_000_000]}, "'Z' does not belong"),
        ({"U": [98_000_000, DIM]}, "U is 98000000 × 5, not 4 × 5"),
        ({"U": [4, 70_000_000], "V": [3, 70_000_000]}, "a is 2 × 5, not 2 × 70000000"),
    ],
)
def test_weights_that_cannot_be_the_models_are_not_read(
    folder: Path, shapes: dict[str, list[int]], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bytes_of(folder)
    record = json.loads(whole["config.json"])
    named = record["arrays"] | {name: {"shape": shape, "dtype": "float32"} for name, shape in shapes.items()}
    size = (
        len(whole["weights.safetensors"]) + entries.array_bytes(named) - entries.array_bytes(record["arrays"])
    )
    fill(folder, vouch(whole, arrays=named, sizes=record["sizes"] | {"weights.safetensors": size}))
    os.truncate(folder / "weights.safetensors", size)
    read = entries.read_entry
    opened: list[str] = []
    monkeypatch.setattr(entries, "read_entry", lambda home, name: (opened.append(name), read(home, name))[1])
    assert expected in refusal(folder)
    assert "weights.safetensors" not in opened


def test_large_weights_have_no_longer_axes_than_can_be_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "model", model("e+ma"))
    monkeypatch.setattr(files, "_MUCH", 0)
    assert read_folder(tmp_path / "model").method == "e+ma"
    monkeypatch.setattr(files, "_LONGEST_AXIS", DIM - 1)
    assert "names arrays that are too large" in refusal(tmp_path / "model")


def rows(count: int, code: str = "icd9cm:4280") -> pa.Table:
    def repeated(text: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), [text]).cast(pa.string())

    columns = {"kind": repeated("diagnosis"), "index": np.zeros(count, np.int32), "code": repeated(code)}
    return pa.table(columns | {"count": np.zeros(count, np.int64)}, schema=tables.VOCABULARY_COLUMNS)


BOMBS = {
    "rows": ("vocabulary.parquet", parquet(rows(300_000)), "more than 250,000 rows"),
    "long text": ("vocabulary.parquet", parquet(rows(50, "icd9cm:" + "4" * 1000)), "too long for codes"),
    "pieces": ("vocabulary.parquet", parquet(rows(2000), row_group_size=1), "too many pieces"),
    "packing": ("vocabulary.parquet", parquet(rows(50), compression="zstd"), "packed in a way"),
    "epochs": ("history.parquet", parquet(pa.table({"e": np.zeros(200_000)})), "more than 100,000 rows"),
    "measures": (
        "history.parquet",
        parquet(pa.table({f"m{i}": [1] for i in range(101)})),
        "too many of them",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_parquet_file_that_unpacks_to_too_much_is_refused(folder: Path, name: str) -> None:
    file, data, expected = BOMBS[name]
    fill(folder, vouch(bytes_of(folder) | {file: data}))
    assert expected in refusal(folder)


def test_a_split_with_gaps_is_refused(folder: Path) -> None:
    gaps = pa.table({"part": pa.array([0, None], pa.int16())})
    fill(folder, vouch(bytes_of(folder) | {"split.parquet": parquet(gaps)}))
    assert "part of every stay" in refusal(folder)


def test_settings_are_not_nested_deeply(folder: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    fill(folder, vouch(bytes_of(folder), settings=deep))
    assert "nested too deeply" in refusal(folder)


def test_all_flaws_are_reported_together(folder: Path) -> None:
    (folder / "MODEL_CARD.md").unlink()
    (folder / "notes.txt").write_text("x")
    message = refusal(folder)
    assert "lacks MODEL_CARD.md" in message
    assert "'notes.txt'" in message


# What may not be written


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"settings": {"path": "/home/ann/cohort.parquet"}}, "path of the machine"),
        ({"settings": {"deep": [{"a": "C:\\Users\\ann"}]}}, "path of the machine"),
        ({"card": "Trained on ~/data/mimic/c.parquet."}, "path of the machine"),
        ({"settings": {"x": float("nan")}}, "plain JSON"),
        ({"settings": {"x": np.float32(1)}}, "plain JSON"),
        ({"history": pa.table({"patient": ["17"]})}, "not numbers"),
        ({"split": b"x"}, "Parquet"),
        ({"diagnoses": DIAGNOSES[:-1]}, "U is 4 × 5"),
        ({"diagnosis_counts": (1, 2)}, "counts"),
        ({"method": "oracle"}, "oracle"),
        ({"arrays": {}}, "array A is missing"),
    ],
)
def test_an_unfit_model_is_not_written(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(ModelError, match=expected) as caught:
        write_folder(tmp_path / "m", replace(model(), **change))
    assert SENTENCE.fullmatch(str(caught.value))
    assert list(tmp_path.iterdir()) == []


def test_metadata_of_the_history_is_not_kept(tmp_path: Path) -> None:
    history = model().history.replace_schema_metadata({"source": "/home/ann/x"})
    write_folder(tmp_path / "m", replace(model(), history=history))
    assert b"ann" not in b"".join(bytes_of(tmp_path / "m").values())


def test_only_models_and_empty_folders_are_replaced(tmp_path: Path, folder: Path) -> None:
    documents = tmp_path / "documents"
    fill(documents, {"thesis.md": b"years of work"})
    other = tmp_path / "other"
    fill(other, {"config.json": b'{"model": "bert"}'})
    damaged = tmp_path / "damaged"
    fill(damaged, {"config.json": b"{"})
    noted = tmp_path / "noted"
    fill(noted, bytes_of(folder) | {"notes.txt": b"mine"})
    (tmp_path / "file").write_text("mine")
    for place in (documents, other, damaged, noted, tmp_path / "file"):
        before = bytes_of(place) if place.is_dir() else place.read_bytes()
        with pytest.raises(ModelError):
            write_folder(place, model())
        assert (bytes_of(place) if place.is_dir() else place.read_bytes()) == before
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", model())
    write_folder(folder, model(seed=1))
    assert read_folder(tmp_path / "empty").settings["seed"] == 0
    assert read_folder(folder).settings["seed"] == 1
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_a_link_to_a_model_stays_a_link(tmp_path: Path, folder: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(folder)
    write_folder(link, model(seed=1))
    assert link.is_symlink()
    assert read_folder(folder).settings["seed"] == 1


# Faults and kills


def fail_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Let the given call of a function, counted from 1, report a full disk."""
    true, calls = getattr(owner, name), iter(range(1, 1000))

    def limited(*args: Any, **named: Any) -> Any:
        if next(calls) == call:
            raise OSError(errno.ENOSPC, "No space left on device")
        return true(*args, **named)

    monkeypatch.setattr(owner, name, limited)


FAULTS = [
    *[(Path, "write_bytes", call) for call in range(1, 7)],
    *[(os, "fsync", call) for call in range(1, 8)],
    (Path, "mkdir", 2),
    (replacement, "_exchange", 1),
]


@pytest.mark.parametrize(("owner", "name", "call"), FAULTS)
def test_a_full_disk_leaves_the_old_model_and_no_stray(
    folder: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    before = bytes_of(folder)
    with monkeypatch.context() as patch:
        fail_at(patch, owner, name, call)
        with pytest.raises(OSError, match="No space left"):
            write_folder(folder, model(seed=1))
    assert bytes_of(folder) == before
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("call", [1, 2])
def test_a_failed_rename_leaves_the_old_model_where_names_cannot_be_exchanged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    before = bytes_of(folder)
    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_exchange", lambda one, other: False)
        fail_at(patch, Path, "rename", call)
        with pytest.raises(OSError, match="No space left"):
            write_folder(folder, model(seed=1))
    assert bytes_of(folder) == before
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_two_renames_do_where_names_cannot_be_exchanged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacement, "_exchange", lambda one, other: False)
    write_folder(folder, model(seed=1))
    assert read_folder(folder).settings["seed"] == 1
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges names")
def test_linux_exchanges_names_in_one_step(tmp_path: Path) -> None:
    (tmp_path / "one" / "inside").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    assert replacement._exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "other" / "inside").is_dir()
    with pytest.raises(FileNotFoundError):
        replacement._exchange(tmp_path / "one", tmp_path / "none")


def test_where_folders_cannot_be_locked_drafts_of_others_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder.with_name(".model.89abcdef.draft").mkdir()
    write_folder(folder, model(seed=1))
    assert read_folder(folder).settings["seed"] == 1
    assert folder.with_name(".model.89abcdef.draft").is_dir()


def test_what_a_kill_between_two_renames_leaves_is_read_and_then_put_right(folder: Path) -> None:
    aside = folder.with_name(".model.0123abcd.aside")
    folder.rename(aside)
    (folder.with_name(".model.0123abcd.draft")).mkdir()
    assert read_folder(folder).settings["seed"] == 0
    write_folder(folder, model(seed=1))
    assert read_folder(folder).settings["seed"] == 1
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_a_model_set_aside_is_kept_while_something_else_has_its_name(folder: Path) -> None:
    aside = folder.with_name(".model.0123abcd.aside")
    folder.rename(aside)
    folder.write_text("a file in the way")
    with pytest.raises(ModelError, match="is a file"):
        write_folder(folder, model(seed=1))
    assert folder.read_text() == "a file in the way"
    assert read_folder(aside).settings["seed"] == 0


def test_leftovers_of_killed_writers_are_removed_and_nothing_else(folder: Path) -> None:
    (folder.with_name(".model.89abcdef.draft")).mkdir()
    kept = [".model.notes", ".other.89abcdef.draft", ".model.89abcdef.draft.txt"]
    for name in kept:
        folder.with_name(name).mkdir()
    write_folder(folder, model(seed=1))
    assert sorted(entry.name for entry in folder.parent.iterdir()) == sorted([*kept, "model"])


REWRITE = """
import sys
from dataclasses import replace
from dx2px.scoring.folder import read_folder, replacement, write_folder
if sys.argv[2] == "renames":
    replacement._exchange = lambda one, other: False
first = read_folder(sys.argv[1])
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    write_folder(sys.argv[1], replace(first, settings={**first.settings, "seed": turn}))
"""


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_kill_at_any_moment_leaves_a_whole_model(folder: Path, way: str) -> None:
    draw = random.Random(way)
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", REWRITE, str(folder), way], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            seen = set()
            until = time.monotonic() + draw.uniform(0.02, 0.15)
            while time.monotonic() < until:
                seen.add(read_folder(folder).settings["seed"])
            writer.send_signal(signal.SIGKILL)
        assert len(seen) >= 1
        assert np.array_equal(read_folder(folder).arrays["U"], arrays()["U"])
    write_folder(folder, model())
    assert [entry.name for entry in folder.parent.iterdir()] == ["model"]


def test_nothing_in_the_package_could_run_code_from_a_file() -> None:
    source = Path(replacement.__file__).parents[2]
    risky = re.compile(r"\bpickle\b(?! anywhere)|torch\.load|allow_pickle=True|\beval\(|yaml\.load")
    paths = list(source.rglob("*.py"))
    assert source / "answers" / "model.py" in paths
    for path in paths:
        code = re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL)
        assert not risky.search(code), path


def test_reading_needs_no_heavy_library() -> None:
    script = (
        "import sys, dx2px.scoring.folder; print([m for m in ('torch', 'numba', 'ibis') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"
