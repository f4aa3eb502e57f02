"""What `prepare` counts while it writes the stays."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from dx2px.cohort.file import CODE_LISTS, CohortWriter


class CountingWriter:
    """Writes batches of stays and counts entries, distinct codes, and stays with more than one patient id."""

    def __init__(self, writer: CohortWriter) -> None:
        self.writer = writer
        self.entries = 0
        self.shared_stays = 0
        self.codes: dict[str, set[str]] = {name: set() for name in CODE_LISTS}

    def add(self, batch: pa.RecordBatch) -> None:
        """Write stays that have the column `other_patient` beside those of a cohort file."""
        for name, seen in self.codes.items():
            flat = batch.column(name).flatten()
            self.entries += len(flat)
            seen.update(flat.unique().to_pylist())
        same = pc.equal(batch.column("patient_id"), batch.column("other_patient"))
        self.shared_stays += pc.sum(pc.invert(same)).as_py() or 0
        self.writer.write(batch)
