"""Finding and swapping identity terms in texts."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.matching import Case, TermFinder, case_of, count_terms, write
from fairness_engine.groups.identity_terms.terms import check_terms, default_terms

FINDER = TermFinder(default_terms())


def found(text: str, finder: TermFinder = FINDER) -> list[str]:
    """The terms found, and that the places hold them."""
    places = finder.find(text)
    assert all(0 <= a.start < a.end <= b.start for a, b in itertools.pairwise(places))
    return [place.term for place in places]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("nothing here", []),
        ("gay", ["gay"]),
        ("Gay, GAY; (gay) 'gay' gay.", ["gay"] * 5),
        ("gays and gayer and megay and gay2 and gay_man", []),
        ("an anti-gay remark, gay's friend, gay-friendly", ["gay"] * 3),
        ("African American", ["african american"]),
        ("an african-american and an african  \n american", ["african american", "african american"]),
        ("African, American", ["african", "american"]),
        ("african americans", ["african"]),
        ("lgbtq lgbt", ["lgbtq", "lgbt"]),
        ("older, old, oldest", ["older", "old"]),
        ("middle aged Middle-Aged MIDDLE AGED middle-age", ["middle aged"] * 3),
        ("a young asian muslim", ["young", "asian", "muslim"]),
        ("trans-european", ["trans", "european"]),
    ],
)
def test_whole_words_are_found_the_longest_first(text: str, terms: list[str]) -> None:
    assert found(text) == terms


def test_terms_of_other_scripts_and_accents_are_found_composed_or_not() -> None:
    finder = TermFinder(check_terms({"x": ["café noir", "日本人", "हिन्दी", "łódź"]}.items()))
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, "Le CAFÉ-noir, 日本人! Łódź हिन्दी")
        assert found(text, finder) == ["café noir", "日本人", "łódź", "हिन्दी"]
    short = TermFinder(check_terms({"x": ["cafe", "other"]}.items()))
    assert found(unicodedata.normalize("NFD", "café"), short) == []  # its e bears an accent: another word
    assert found("cafe", short) == ["cafe"]


@pytest.mark.parametrize(
    ("text", "terms", "swapped"),
    [
        ("A gay man.", {"gender": "lesbian"}, "A lesbian man."),
        ("Gay men, GAY men, gay men", {"gender": "straight"}, "Straight men, STRAIGHT men, straight men"),
        ("Gay and Lesbian, lgbt", {"gender": "queer"}, "Queer and Queer, queer"),
        ("An Asian", {"race": "african american"}, "An African American"),
        ("AFRICAN AMERICAN", {"race": "white"}, "WHITE"),
        ("a young asian", {"race": "black"}, "a young black"),
        ("a young asian", {"race": "black", "age": "middle aged"}, "a middle aged black"),
        ("a young asian", {"religion": "sikh"}, "a young asian"),
        ("Old", {"age": "Old"}, "Old"),
    ],
)
def test_terms_are_swapped_with_the_case_kept(text: str, terms: dict[str, str], swapped: str) -> None:
    result = FINDER.swap(text, terms)
    assert result.text == swapped
    assert [result.text[a:b].lower() for a, b in result.spans] == [
        terms[place.category].lower() for place in FINDER.find(text) if place.category in terms
    ]


def test_a_list_keeps_its_own_capitals_for_words_in_small_letters() -> None:
    finder = TermFinder(check_terms({"religion": ["Muslim", "atheist"], "group": ["LGBT", "women"]}.items()))
    assert finder.swap("an atheist, an Atheist, an ATHEIST", {"religion": "Muslim"}).text == (
        "an Muslim, an Muslim, an MUSLIM"
    )
    assert finder.swap("women", {"group": "lgbt"}).text == "LGBT"


def test_a_term_that_is_none_is_refused() -> None:
    with pytest.raises(SettingError, match="must be a term of the category 'race'"):
        FINDER.swap("asian", {"race": "gay"})
    with pytest.raises(SettingError, match="must be a term"):
        FINDER.swap("asian", {"colour": "blue"})


def test_texts_are_counted_once_for_each_term_they_hold() -> None:
    counts = count_terms(["gay and gay and lesbian", "old", "a gay old man", "none"], default_terms())
    assert (counts.n_any, counts.by_category["gender"], counts.by_category["age"]) == (3, 2, 2)
    assert (counts.by_term["gender"]["gay"], counts.by_term["gender"]["lesbian"], counts.by_term["race"]["asian"]) == (
        2,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("word", "case"),
    [
        ("gay", Case.AS_LISTED),
        ("Gay", Case.TITLE),
        ("GAY", Case.UPPER),
        ("gAY", Case.AS_LISTED),
        ("I", Case.TITLE),
        ("日本", Case.AS_LISTED),
        ("2Nd", Case.AS_LISTED),
        ("Middle aged", Case.TITLE),
    ],
)
def test_the_case_of_a_word(word: str, case: Case) -> None:
    assert case_of(word) is case


# --- against a slow search that shares nothing with the engine
# --------------------------------------------------------------

SMALL = {
    "race": ["african", "african american", "black"],
    "age": ["old", "older", "middle aged"],
    "x": ["american dream", "d"],
}
SLOW = sorted(((word, category) for category, words in SMALL.items() for word in words), key=lambda each: -len(each[0]))


def slow_places(text: str) -> list[tuple[int, int, str, str]]:
    """Every place of a term, letter by letter: the longest that fits, then on behind it."""
    places = []
    at = 0
    while at < len(text):
        for word, category in SLOW:
            piece = text[at : at + len(word)]
            is_start = at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_")
            rest = text[at + len(word) : at + len(word) + 1]
            if piece.lower() == word and is_start and not (rest.isalnum() or rest == "_"):
                places.append((at, at + len(word), category, word))
                at += len(word)
                break
        else:
            at += 1
    return places


words = st.sampled_from(
    ["african", "american", "dream", "black", "old", "older", "middle", "aged", "d", "olds", "x", "_"]
)
texts = st.lists(
    st.tuples(words, st.sampled_from([str.lower, str.upper, str.title]), st.sampled_from([" ", ", ", ". ", "", "'"])),
    max_size=9,
).map(lambda parts: "".join(change(word) + gap for word, change, gap in parts))


@given(texts)
def test_places_are_those_of_a_slow_search(text: str) -> None:
    finder = TermFinder(check_terms(SMALL.items()))
    assert [(p.start, p.end, p.category, p.term) for p in finder.find(text)] == slow_places(text)


@given(texts, st.sampled_from(SMALL["race"]), st.sampled_from(SMALL["age"]))
def test_a_swap_changes_terms_only_and_swapping_back_restores_them(text: str, race: str, age: str) -> None:
    finder = TermFinder(check_terms(SMALL.items()))
    result = finder.swap(text, {"race": race, "age": age})
    places = [place for place in finder.find(text) if place.category in ("race", "age")]
    assert len(result.spans) == len(places)
    rebuilt = ""
    done = 0
    for place, (start, end) in zip(places, result.spans, strict=True):
        rebuilt += text[done : place.start]
        assert len(rebuilt) == start  # what stands before is as it was
        rebuilt += result.text[start:end]
        assert result.text[start:end] == write({"race": race, "age": age}[place.category], place.case)
        done = place.end
    assert rebuilt + text[done:] == result.text


@given(st.text(max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    for place in FINDER.find(text):
        assert text[place.start : place.end].lower().split()[0][:1].isalnum()
    assert FINDER.swap(text, {}).text == text
