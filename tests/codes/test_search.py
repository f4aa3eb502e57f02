import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dx2px.codes import Hit, System, dictionary, find


def codes(hits: list[Hit]) -> list[str]:
    return [hit.code for hit in hits]


def naive(words: list[str], system: System) -> set[str]:
    """The definition, word by word: every query word begins some word of the title (ASCII titles only)."""

    def tokens(title: str) -> list[str]:
        return "".join(mark if mark.isalnum() else " " for mark in title.lower().replace("'", "")).split()

    return {
        f"{system}:{bare}"
        for bare, title in dictionary(system).items()
        if title.isascii() and all(any(token.startswith(word) for token in tokens(title)) for word in words)
    }


@pytest.mark.parametrize("query", ["428", "428.", " 428 "])
def test_a_code_prefix_gives_the_codes_in_order(query: str) -> None:
    expected = sorted(f"icd9cm:{bare}" for bare in dictionary(System.ICD9CM) if bare.startswith("428"))
    assert codes(find(query, System.ICD9CM)) == expected


@pytest.mark.parametrize("query", ["428.0", "4280", "icd9cm:4280", "ICD9CM:428.0"])
def test_an_exact_code_comes_first(query: str) -> None:
    assert find(query)[0] == Hit("icd9cm:4280", "Congestive heart failure, unspecified", 4.0)


def test_case_and_dot_of_a_code_do_not_matter() -> None:
    assert codes(find("i50.2", System.ICD10CM)) == codes(find("I502", System.ICD10CM))
    assert codes(find("i50.2"))[0] == "icd10cm:I5020"


def test_a_dot_in_the_wrong_place_matches_no_code() -> None:
    assert find("42.8", System.ICD9CM) == []
    assert codes(find("42.8", System.ICD9PCS))[0].startswith("icd9pcs:428")


def test_words_may_be_unfinished() -> None:
    found = find("heart fail", System.ICD9CM)
    assert found[0].code == "icd9cm:4289"  # the title that opens with them
    assert "icd9cm:4280" in codes(found)


def test_words_match_in_any_order_but_score_higher_in_order() -> None:
    assert "icd9cm:4280" in codes(find("failure congestive", System.ICD9CM))
    in_order = find("failure heart", System.ICD9CM, limit=1)[0].score
    assert in_order < find("heart failure", System.ICD9CM, limit=1)[0].score


def test_shorter_titles_come_first_among_equals() -> None:
    found = find("bypass coronary", System.ICD10PCS)
    lengths = [len(hit.title) for hit in found]
    assert lengths == sorted(lengths)
    assert all(hit.title.startswith("Bypass Coronary") for hit in found)


def test_accents_and_apostrophes_may_be_left_out() -> None:
    assert find("meniere", System.ICD9CM)[0].code == "icd9cm:38600"
    assert find("crohns", System.ICD10CM)[0].title.startswith("Crohn's")
    assert codes(find("crohn's", System.ICD10CM)) == codes(find("crohns", System.ICD10CM))


def test_letters_without_digits_are_read_as_a_word_first() -> None:
    assert find("h", System.ICD10CM)[0].title.startswith("H")
    assert find("bw", System.ICD10PCS)[0].code.startswith("icd10pcs:BW")


@pytest.mark.parametrize("system", [System.ICD9CM, System.ICD9PCS])
@pytest.mark.parametrize("query", ["heart fail", "acut", "unspecified chronic", "zzz", "knee repl"])
def test_the_hits_are_exactly_those_of_the_definition(query: str, system: System) -> None:
    found = find(query, system, limit=20_000)
    assert {hit.code for hit in found if hit.title.isascii()} == naive(query.split(), system)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20), st.integers(0, 30))
def test_any_query_gives_at_most_the_limit_best_first(query: str, limit: int) -> None:
    found = find(query, System.ICD9PCS, limit=limit)
    scores = [hit.score for hit in found]
    assert len(found) <= limit
    assert scores == sorted(scores, reverse=True)
    assert len(set(codes(found))) == len(found)


def test_among_restricts_the_search_to_a_vocabulary() -> None:
    vocabulary = ["icd9cm:4280", "icd9cm:4019", "icd9pcs:3995"]
    assert codes(find("heart fail", among=vocabulary)) == ["icd9cm:4280"]
    assert codes(find("4", among=set(vocabulary))) == ["icd9cm:4019", "icd9cm:4280"]
    assert codes(find("e", among=dict.fromkeys(vocabulary), limit=5)) == ["icd9cm:4019"]
    assert find("heart", among=[]) == []


def test_systems_are_searched_together_or_separately() -> None:
    both = find("heart failure", [System.ICD9CM, System.ICD10CM], limit=2)
    assert codes(both) == ["icd9cm:4289", "icd10cm:I509"]
    assert find("heart failure", []) == []


@pytest.mark.parametrize("query", ["", "   ", "-", "…", "zzz"])
def test_nothing_typed_or_nothing_known_gives_nothing(query: str) -> None:
    assert find(query) == []


def test_the_same_query_gives_the_same_answer() -> None:
    assert find("pneum") == find("pneum")
