"""Pairs of sentences that differ by one word and are decided differently: read from a run, drawn side by side, saved as
CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.table import export_text
from fairness_engine.groups.results import SentencePair, Sentences
from fairness_engine.models.fit import decisions
from fairness_engine.models.fit.decisions import Decisions
from pages.groups.texts import own_sentence
from pages.shared import exports
from pages.shared.app import theme, wording
from pages.shared.people.decisions import decisions_of
from pages.shared.runs.results import results_of
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


def sentences_of(run: RunRecord) -> Sentences:
    """The sentences that a run kept; none where it has none."""
    return results_of(run).sentences or Sentences()


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
@media screen and (max-width: 800px) {{.eh-pair {{grid-template-columns: 1fr}}}}
</style>
"""
