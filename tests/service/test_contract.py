"""The OpenAPI document, tried by Schemathesis with all of its checks; `benchmarks/schemathesis_run.py` tries more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["model_folder", "evidence_folder"])
def test_schemathesis_finds_nothing(folder: str, request: pytest.FixtureRequest) -> None:
    model = str(request.getfixturevalue(folder))
    command = [sys.executable, str(ROOT / "benchmarks" / "schemathesis_run.py"), "--model", model]
    command += ["--cases", "15", "--quick", "--token"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_every_operation_is_documented(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, told in operations.items():
            assert told["summary"], path
            assert "200" in told["responses"]
            if method == "post":
                media = told["requestBody"]["content"]["application/json"]
                assert media["schema"]["$ref"].rpartition("/")[2] in document["components"]["schemas"]


@pytest.mark.parametrize("service", ["client", "knowing"])
def test_examples_are_answered(service: str, request: pytest.FixtureRequest) -> None:
    client: TestClient = request.getfixturevalue(service)
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for told in operations.values():
            media = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" in media:
                assert client.post(path, json=media["example"]).status_code == 200, path
