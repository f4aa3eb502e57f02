from dx2px.codes import System, dictionary, is_listed


def test_lists_are_complete() -> None:
    assert [len(dictionary(system)) for system in System] == [14_567, 3_882, 74_044, 78_603]


def test_titles_are_clean_text() -> None:
    for system in System:
        for text in dictionary(system).values():
            assert text
            assert text == " ".join(text.split())
            assert not text.endswith((",", ";"))
            assert text.isprintable()


def test_accents_are_read_correctly() -> None:
    assert dictionary(System.ICD9CM)["38600"] == "Ménière's disease, unspecified"


def test_only_a_canonical_code_of_a_list_is_listed() -> None:
    assert is_listed("icd9cm:4280")
    assert not is_listed("icd9cm:428")
    assert not is_listed("4280")
