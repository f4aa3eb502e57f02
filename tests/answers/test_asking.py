"""Several questions in one pass: each gets the answer, or the error, that it gets alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dx2px.answers import Explanation, Model
from dx2px.answers.asking import Asked, explain_each
from dx2px.errors import InputError

CODES = ["428.0", "584.9", "518.81", "410.71", "V45.81", "250.00", "401.9", "715.96", "038.9"]


def question(codes: list[str], top: int = 10, **others: Any) -> Asked:
    rest = {"procedures": None, "coverage": None, "map": True, "plan": "own", "with_reasons": 5, "facts": {}}
    return Asked(codes=codes, top=top, **(rest | others))


QUESTIONS = [
    *(question(CODES[:count]) for count in range(1, 9)),
    question(["428.9", "518.89"], coverage=0.8),
    question(["I50.9", "N17.9"]),  # of the other version of ICD
    question(["428.0", "410.09"], facts={"age": 71, "sex": "F", "principal": "428.0"}),
    question(["428.0"], facts={"coded": ["37.22"]}),
    question(["410.71", "428.0"], procedures=["36.06", "96.72"], plan="transport"),
    question(["999.99x"]),
    question(["428.0"], top=0),
    question(["428.0"], facts={"coded": ["37.22"]}, procedures=["37.22"]),
    question(["I50.9"], map=False),
]


@pytest.mark.parametrize("name", ["nhds2010", "nhds2010-paper"])
def test_each_is_answered_as_it_would_be_alone(name: str) -> None:
    model = Model.load(name)
    drawn = np.random.default_rng(0)
    for count in (1, 3, len(QUESTIONS)):
        asked = [QUESTIONS[place] for place in drawn.permutation(len(QUESTIONS))[:count]]
        for one, found in zip(asked, explain_each(model, asked), strict=True):
            [alone] = explain_each(model, [one])
            assert type(found) is type(alone)
            if isinstance(found, Explanation):
                assert found.to_dict() == alone.to_dict()  # type: ignore[union-attr]
            else:
                assert isinstance(found, InputError)
                assert str(found) == str(alone)
