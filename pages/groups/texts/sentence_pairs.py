"""Pairs of sentences that differ by one word and are decided differently: read from a run, drawn side by side, saved as
CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.dataset import export_text
from pages.groups.texts import own_sentence
from pages.shared import exports
from pages.shared.app import session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.people import decisions
from pages.shared.people.decisions import Decisions, decisions_of
from pages.shared.texts import marks

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

_LEGEND = (
    f"{theme.SELECTION.symbol} marks the words that differ; everything else is equal. {decisions.FAVOURABLE} is the "
    f"favourable decision, {decisions.UNFAVOURABLE} another."
)
_N_PAGE = 8
_MAX_CHARACTERS = 700
_ALL = "All terms"


@dataclass(frozen=True)
class SentencePair:
    """Two texts that differ in the terms put in, and what the model said of each.

    Args:
        rule_set: position of the rule set among the run's.
        term: in the first text, of the rule set; one a category, with commas between.
        other: in the second text.
        texts: both texts.
        spans: begin and end of the words put in, of each text.
        decisions, scores: of each text.
        is_original: the second text stands in the data as it is.
    """

    rule_set: int
    term: str
    other: str
    texts: tuple[str, str]
    spans: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
    decisions: tuple[int, int]
    scores: tuple[float, float]
    is_original: bool = False

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> SentencePair:
        """Read one pair of the result ``sentences``."""
        spans = [tuple((int(a), int(b)) for a, b in content[name]) for name in ("spans_first", "spans_second")]
        return cls(
            int(content["rule_set"]),
            str(content["term"]),
            str(content["other"]),
            (str(content["first"]), str(content["second"])),
            (spans[0], spans[1]),
            (int(content["decisions"][0]), int(content["decisions"][1])),
            (float(content["scores"][0]), float(content["scores"][1])),
            bool(content["is_original"]),
        )


@dataclass(frozen=True)
class Looked:
    """What was seen of one rule set's swaps.

    Args:
        rule_set: its position among the run's.
        n_looked_at, n_differing: texts, and those of them that another term decides otherwise in the direction of the
            score.
        lost, gained: shares of all swaps in which its terms lose, or gain, the favourable decision against another term
            at random.
    """

    rule_set: int
    n_looked_at: int
    n_differing: int
    lost: float
    gained: float


@dataclass(frozen=True)
class Sentences:
    """What a run kept of its texts.

    Args:
        pairs: decided differently, in the order of their rule sets.
        looked: what was seen of the rule sets that were looked at.
        notes: what a reader should know of the run, one sentence each.
    """

    pairs: tuple[SentencePair, ...] = ()
    looked: tuple[Looked, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of_results(cls, results: Mapping[str, Any]) -> Sentences:
        """Read the results ``sentences`` and ``notes`` of a run; empty where it has none."""
        content = results.get("sentences") or {}
        names = [field.name for field in fields(Looked)]
        return cls(
            tuple(SentencePair.from_json(each) for each in content.get("pairs") or ()),
            tuple(Looked(**{name: each[name] for name in names}) for each in content.get("looked") or ()),
            tuple((results.get("notes") or {}).get("notes") or ()),
        )

    def looked_at(self, rule_set: int) -> Looked | None:
        """What was seen of a rule set; ``None`` where none of its texts were looked at."""
        return next((each for each in self.looked if each.rule_set == rule_set), None)


def sentences_of(run: RunRecord) -> Sentences:
    """The sentences that a run kept, read once a session."""
    return kept("sentences", run.id, lambda: Sentences.of_results(session.store().results(run.id)))


# --- drawn ---------------------------------------------------------------------------------------


def draw_for(review: Review, run: RunRecord, position: int) -> None:
    """The sentence pairs of one rule set, for its card; what to read where it has none."""
    found = sentences_of(run)
    names = decisions_of(review)
    chosen = [pair for pair in found.pairs if pair.rule_set == position]
    if not chosen:
        st.caption("No sentence pairs were kept for this group: they are of the groups with the largest differences.")
        return
    st.html(f"{marks.style()}{style()}{''.join(pair_html(pair, names) for pair in chosen)}")
    st.caption(f"{wording.markdown(shown_text(found, chosen, chosen[0].term))}  \n{_LEGEND}")


def draw(run: RunRecord, found: Sentences, names: Decisions) -> None:
    """The pairs of a run, of all terms or of one, page by page, and all of them as a file."""
    terms = {_ALL: len(found.pairs)}
    for pair in found.pairs:
        terms[pair.term] = terms.get(pair.term, 0) + 1
    left, middle, right = st.columns([5, 2, 2], vertical_alignment="bottom")
    wanted = left.selectbox(
        "Term",
        list(terms),
        format_func=lambda term: f"{term} ({wording.counted(terms[term], 'pair')})",
        key=f"sentence_term_{run.id}",
        help="The word in the sentence on the left.",
    )
    with right:
        exports.offer_csv(
            "Save as CSV",
            lambda: pairs_csv(found.pairs, names),
            f"evenhand-sentences-{run.id[:8]}",
            "sentences_csv",
            run_ids=(run.id,),
        )
    chosen = [pair for pair in found.pairs if wanted in (_ALL, pair.term)]
    n_pages = -(-len(chosen) // _N_PAGE)
    page = 1
    if n_pages > 1:
        key = f"sentence_page_{run.id}_{wanted}"
        page = int(middle.number_input(f"Page (of {n_pages})", 1, n_pages, 1, key=key))
    shown = chosen[(page - 1) * _N_PAGE : page * _N_PAGE]
    st.caption(
        f"{wording.markdown(shown_text(found, chosen, wanted))}  \n{_LEGEND} "
        f"{wording.markdown(own_sentence.score_note(names))}"
    )
    st.html("".join(pair_html(pair, names) for pair in shown))


def shown_text(found: Sentences, chosen: Sequence[SentencePair], wanted: str) -> str:
    """How many sentences were looked at for a term, and how many of them are decided otherwise; not escaped."""
    seen = found.looked_at(chosen[0].rule_set) if wanted != _ALL and chosen else None
    if seen is None:
        return "The terms with the largest difference of shares come first."
    are = "is" if seen.n_differing == 1 else "are"
    return (
        f"Of {wording.counted(seen.n_looked_at, 'sentence')} looked at, {wording.count(seen.n_differing)} {are} "
        f"decided otherwise with “{wanted}” than with another term; {wording.counted(len(chosen), 'pair')} of them. "
        f"Over the whole run “{wanted}” loses the favourable decision in {wording.share(seen.lost)} of the swaps, and "
        f"gains it in {wording.share(seen.gained)}."
    )


def pair_html(pair: SentencePair, names: Decisions) -> str:
    """Both sentences side by side; everything that came from a file is escaped."""
    sides = "".join(_side_html(pair, side, names) for side in (0, 1))
    return f'<div class="eh-pair">{sides}</div>'


def _side_html(pair: SentencePair, side: int, names: Decisions) -> str:
    text = pair.texts[side]
    decision = pair.decisions[side]
    spans = [(begin, end, "differs") for begin, end in pair.spans[side]]
    digits = decisions.score_digits(pair.scores)
    verdict = wording.escaped(names.text(decision))
    colour = theme.FAVOURED.colour if decision == names.favourable else theme.HARMED.colour
    score = wording.escaped(names.score(pair.scores[side], decision, digits))
    own = " · from your data" if side == 1 and pair.is_original else ""
    return (
        f'<div><p class="eh-verdict"><b style="color:{colour}">{verdict}</b> · score {score}{own}</p>'
        f"<p>{marks.swapped_html(text, spans, _MAX_CHARACTERS)}</p></div>"
    )


def pairs_csv(pairs: Sequence[SentencePair], names: Decisions) -> bytes:
    """The pairs as CSV in UTF-8; texts that a spreadsheet would take for a formula are neutralised."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = f"score for {names.scored()}"
    own = ["pair", "term", "other_term", "text", "other_text", "decision", "other_decision", scores, f"other {scores}"]
    writer.writerow([export_text(name) for name in own])
    for number, pair in enumerate(pairs, start=1):
        named = [names.name(decision) for decision in pair.decisions]
        texts = [export_text(each) for each in (pair.term, pair.other, *pair.texts, *named)]
        writer.writerow([number, *texts, *names.shown(pair.scores).tolist()])
    return out.getvalue().encode("utf-8")


def style() -> str:
    """The look of pairs in the reader's theme."""
    return f"""
<style>
.eh-pair {{display: grid; grid-template-columns: 1fr 1fr; gap: 1.2rem; padding: 0.7rem 0.2rem;
  border-top: 1px solid {theme.faint()}; overflow-wrap: anywhere; line-height: 1.6}}
.eh-pair p {{margin: 0}}
.eh-verdict {{font-size: 0.92rem; margin-bottom: 0.25rem !important}}
@media (max-width: 800px) {{.eh-pair {{grid-template-columns: 1fr}}}}
</style>
"""
