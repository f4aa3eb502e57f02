"""Which entries stand in a stay beside a code that a correction's condition asks for, found in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import pyarrow as pa

from dx2px.cohort.assembly import known
from dx2px.cohort.corrections import Correction, Met
from dx2px.cohort.engines import Engine
from dx2px.cohort.verdicts import Verdicts

TEXT = ("kind", "version", "code")
CORRECTED, COMPANION = 0, 1


def mark_entries(
    engine: Engine, entries: Any, verdicts: Verdicts, corrections: Sequence[Correction]
) -> tuple[Any, Met]:
    """The entries with a column `met`, 1 where the condition on their code is met; how many of each text these are.

    Conditions look at the codes as they were read, before any correction.
    """
    lent = engine.lend(_roles(verdicts, corrections))
    marked = _marked(entries, lent)
    met = known(marked).filter(marked.met == 1)
    found = engine.fetch(met.group_by(*TEXT).agg(entries=met.count())).to_pylist()
    return marked, {(row["kind"], row["version"], row["code"]): row["entries"] for row in found}


def _roles(verdicts: Verdicts, corrections: Sequence[Correction]) -> pa.Table:
    """A row for each text and each condition in which its code is the corrected one or its companion."""
    rows = [
        (verdict.written, rule, CORRECTED if verdict.code == one.read else COMPANION)
        for rule, one in enumerate(corrections)
        if one.beside
        for verdict in verdicts.items
        if verdict.code and (verdict.code == one.read or one.is_met_by(verdict.code))
    ]
    return pa.table(
        {
            "kind": pa.array([written.kind for written, _, _ in rows], pa.string()),
            "version": pa.array([written.version for written, _, _ in rows], pa.int64()),
            "code": pa.array([written.text for written, _, _ in rows], pa.string()),
            "rule": pa.array([rule for _, rule, _ in rows], pa.int64()),
            "role": pa.array([role for _, _, role in rows], pa.int64()),
        }
    )


def _marked(entries: Any, roles: Any) -> Any:
    companions = roles.filter(roles.role == COMPANION)
    stays = known(entries).inner_join(companions, TEXT).select("stay", "rule").distinct()
    stays = stays.select(met_stay=stays.stay, met_rule=stays.rule)
    rules = roles.filter(roles.role == CORRECTED).select(*TEXT, "rule")
    joined = entries.left_join(rules, TEXT).select(*entries.columns, "rule")
    both = joined.left_join(stays, [joined.stay == stays.met_stay, joined.rule == stays.met_rule])
    both = both.select(*entries.columns, "met_rule")
    return both.mutate(met=ibis.ifelse(both.met_rule.notnull(), 1, 0).cast("int64")).drop("met_rule")
