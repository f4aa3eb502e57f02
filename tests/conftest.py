"""What all tests share: where the open data lies, engines to run against, and that CI lets no test skip."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import settings

# As the command line does: waiting threads sleep, so that tests stay quick on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# The tests' processes fill the cores. Threads of theirs would only wait for each other, and numpy's spin while they do:
# some tests took eight times as long. A test about threads sets their number itself.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes depends on what else the machine does, not on the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the open hospital data; tests that ask for it skip where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"the open data are not at {DATA}")
    return DATA


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark on two threads of this machine, for all tests; they skip where Spark or Java is absent."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="dx2px-spark-") as folder:
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": folder,
            "spark.ui.showConsoleProgress": "false",
            # Queries of a few rows: planning and compiling them well costs more than running them.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        builder = sql.SparkSession.builder.master("local[2]").appName("dx2px tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
        # The launched JVM ends when its gateway's pipe closes; without this it outlives the tests by seconds.
        gateway = session.sparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=30)


@pytest.fixture(scope="session")
def evidence_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes more than diagnoses, made once for all tests."""
    from evidence_model import trained

    folder = tmp_path_factory.mktemp("evidence") / "model"
    trained("stay").save(folder)
    return folder


@dataclass(frozen=True)
class PostgresServer:
    """A throwaway PostgreSQL on loopback; passwords are real (scram), and text sorts by English, not by bytes."""

    port: int
    user: str = "keeper"
    password: str = "p@ss/w:rd %41"
    database: str = "postgres"

    @property
    def url(self) -> str:
        """The URL that `--engine` takes, for the owner of everything."""
        return self.url_of(self.user, self.password)

    def url_of(self, user: str, password: str) -> str:
        return f"postgresql://{quote(user)}:{quote(password, safe='')}@127.0.0.1:{self.port}/{self.database}"

    def connect(self) -> Any:
        """A connection of the owner, for laying out tables; every statement is committed."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=self.database,
            autocommit=True,
            connect_timeout=10,
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL cluster made for this run; tests skip where the server or its driver is absent."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed")
    owner = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="dx2px-postgres-") as name:
        folder = Path(name)
        server = PostgresServer(_free_port())
        (folder / "password").write_text(server.password)
        if owner:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        _make_cluster(programs, folder, server, owner)
        process = _start(programs, folder, server, owner)
        try:
            _wait_until_ready(server, process)
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def _postgres_programs() -> Path | None:
    """The folder of initdb and postgres; Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return places[-1] if places else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _make_cluster(programs: Path, folder: Path, server: PostgresServer, owner: dict[str, Any]) -> None:
    command = [
        programs / "initdb",
        f"--pgdata={folder / 'cluster'}",
        f"--username={server.user}",
        f"--pwfile={folder / 'password'}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--locale-provider=icu",
        "--icu-locale=en-US",
        "--no-sync",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=120, **owner)


def _start(
    programs: Path, folder: Path, server: PostgresServer, owner: dict[str, Any]
) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": server.port,
        "unix_socket_directories": "",
        "fsync": "off",
        "shared_buffers": "32MB",
    }
    command = [programs / "postgres", "-D", folder / "cluster"]
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **owner)


def _wait_until_ready(server: PostgresServer, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            server.connect().close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With DX2PX_NO_SKIP=1 a skip is a failure: there every component is meant to be present."""
    report = yield
    if report.skipped and os.environ.get("DX2PX_NO_SKIP") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} skipped where nothing may skip: {report.longrepr}"
    return report
