import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dx2px.codes import Hit, System, Usage, dictionary, find, split
from dx2px.codes.catalogue import under
from dx2px.codes.everyday import meant
from dx2px.codes.spelling import mistakes_in
from dx2px.codes.tables import rows
from dx2px.codes.word_index import words_of


def codes(hits: list[Hit]) -> list[str]:
    return [hit.code for hit in hits]


USED = Usage(
    {"icd9cm:4280": 6000, "icd9cm:4289": 28, "icd9cm:41071": 1000, "icd9cm:41090": 2, "icd9pcs:741": 4000}
)


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
    found = find(query, system, limit=20_000, forgive=False)
    assert {hit.code for hit in found if hit.title.isascii()} == naive(query.split(), system)


@settings(max_examples=60)
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


def test_common_codes_come_before_rare_ones_that_fit_better() -> None:
    assert codes(find("heart fail", System.ICD9CM, 2)) != ["icd9cm:4280", "icd9cm:4289"]
    assert codes(find("heart fail", System.ICD9CM, 2, usage=USED)) == ["icd9cm:4280", "icd9cm:4289"]
    many = [
        f"icd9cm:{bare}"
        for bare, title in dictionary(System.ICD9CM).items()
        if "unspecified" in title.lower()
    ]
    rare_but_used = Usage({many[-1]: 5})  # beyond those that are ranked in detail for their words
    assert find("unspecified", System.ICD9CM, 1, usage=rare_but_used)[0].code == many[-1]
    assert codes(find("428", System.ICD9CM, usage=USED)) == codes(find("428", System.ICD9CM))


def test_a_version_without_counts_is_not_crowded_out() -> None:
    versions = [split(code)[0].version for code in codes(find("heart attack", limit=8, usage=USED))]
    assert versions.count(10) >= 2
    assert versions[0] == 9


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("heart attack", "icd9cm:41071"),
        ("Heart Att", "icd9cm:41071"),  # unfinished
        ("hart attack", "icd9cm:41071"),  # hart begins Hartnup, but no title has both words
        ("C-section", "icd9pcs:741"),
    ],
)
def test_everyday_words_mean_codes(words: str, code: str) -> None:
    assert find(words, limit=1, usage=USED)[0].code == code


def test_everyday_words_come_before_titles_that_hold_them() -> None:
    found = find("stroke", System.ICD9CM, 50)
    assert found[0].code.startswith("icd9cm:434")
    assert found[0].read_as == "stroke"
    assert any("stroke" in hit.title.lower() and not hit.read_as for hit in found)
    assert meant(["heart"]) is None  # only half of heartburn
    assert meant(["heartbur"]) is not None
    assert codes(find("broken hip", among=["icd9cm:82021", "icd9cm:4280"])) == ["icd9cm:82021"]
    assert codes(find("kidney stones", System.ICD9CM, 1)) == ["icd9cm:5920"]  # one or many
    # A burn, not burn-out, and on the first encounter.
    assert codes(find("burn", System.ICD10CM, 1)) == ["icd10cm:T300"]
    assert codes(find("concussion", System.ICD10CM, 1))[0].endswith("A")


def test_every_everyday_phrase_means_listed_codes_and_is_there_once() -> None:
    phrases = [text for texts, _ in rows("everyday_words") for text in texts.split("; ")]
    assert len({tuple(words_of(text)) for text in phrases}) == len(phrases) > 400
    for texts, headings in rows("everyday_words"):
        for heading in headings.split():
            system, bare = split(heading)
            assert under(bare, system), (texts, heading)
    for text in phrases:
        assert find(text, limit=1), text


@pytest.mark.parametrize(
    ("typed", "meant_word"),
    [
        ("diabetis", "diabetes"),
        ("pnuemonia", "pneumonia"),
        ("haemorrhage", "hemorrhage"),
        ("fractur of patela", "patella"),
    ],
)
def test_typing_mistakes_are_forgiven_where_nothing_fits(typed: str, meant_word: str) -> None:
    found = find(typed, System.ICD9CM)
    assert found
    assert all(meant_word in hit.read_as for hit in found)
    assert find(typed, System.ICD9CM, forgive=False) == []


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_none_and_one_mistake_are_what_changing_a_letter_says(typed: str, word: str) -> None:
    goals = {word[:length] for length in range(len(word) + 1)}
    assert (mistakes_in(typed, word) == 0) == (typed in goals)
    assert (mistakes_in(typed, word) <= 1) == (typed in goals or not goals.isdisjoint(_changes(typed)))


def _changes(text: str) -> set[str]:
    cuts = [(text[:k], text[k:]) for k in range(len(text) + 1)]
    lost = {a + b[1:] for a, b in cuts if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    return lost | swapped | {a + c + b[k:] for a, b in cuts for c in "abc" for k in (0, 1)}
