"""Real processes under torchrun, on loopback: they learn the same model as one process, even if one is killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.training.checkpoint import Checkpoint
from dx2px.training.loop import set_threads

HERE = Path(__file__).parent
LIMIT = 240.0  # seconds after which a run counts as hung; it usually takes a tenth of that
EPOCHS = 8
TRAIN = ("--dim", "16", "--heads", "2", "--batch-size", "20", "--epochs", EPOCHS, "--save-every", "0.1")


def torchrun(*arguments: Any, restarts: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    return subprocess.Popen(
        [*command, "--max-restarts", str(restarts), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        for worker in workers(process):
            os.kill(worker, signal.SIGKILL)
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def workers(process: subprocess.Popen[str]) -> dict[int, int]:
    """The process ids that torchrun has started, with their ranks."""
    found = {}
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        ranks = [int(entry[5:]) for entry in environment if entry.startswith(b"RANK=")]
        if ranks:
            found[int(child)] = ranks[0]
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "C.parquet"
    generate(SyntheticConfig(stays=1000))[0].save(path)
    return path


def test_two_processes_learn_the_weights_of_one(file: Path, tmp_path: Path) -> None:
    """The paper's model in memory and streamed, and the default one with its dropout; losses and measures as well."""
    code, _, err = finished(torchrun(HERE / "worker.py", file, tmp_path))
    assert code == 0, err
    spec = importlib.util.spec_from_file_location("worker", HERE / "worker.py")
    assert spec is not None
    assert spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    set_threads(1)
    for name in worker.RUNS:
        alone, together = worker.learn(name, file), load_file(tmp_path / f"{name}.safetensors")
        assert alone.keys() == together.keys()
        for part in alone:
            np.testing.assert_allclose(
                together[part], alone[part], rtol=1e-3, atol=2e-5, err_msg=f"{name} {part}"
            )


def test_a_killed_process_is_replaced_and_the_weights_are_the_same(file: Path, tmp_path: Path) -> None:
    def train(name: str) -> subprocess.Popen[str]:
        command = ("-m", "dx2px", "train", file, "--method", "e+sa+ma", "--out", tmp_path / name)
        return torchrun(*command, *TRAIN, restarts=2)

    undisturbed = train("A")
    disturbed = train("B")
    epoch = kill_while_learning(disturbed, tmp_path / "B.checkpoint", rank=1)
    (code, out, err), other = finished(disturbed), finished(undisturbed)
    assert (code, other[0]) == (0, 0), err + other[2]
    assert epoch < EPOCHS
    assert out.count("recall %") == other[1].count("recall %") == 1  # only the first process prints
    left, right = (load_file(tmp_path / name / "weights.safetensors") for name in "AB")
    assert all(np.array_equal(left[part], right[part]) for part in left)


def kill_while_learning(process: subprocess.Popen[str], checkpoint: Path, rank: int) -> int:
    """Kill a process once the run has a checkpoint, and return the epoch of that checkpoint."""
    deadline = time.monotonic() + LIMIT
    while not checkpoint.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    victims = [pid for pid, its_rank in workers(process).items() if its_rank == rank]
    os.kill(victims[0], signal.SIGKILL)
    return Checkpoint.load(checkpoint).position.epoch
