"""The exercise sheet of a demo: one HTML file that prints, the questions first, the right answers on a page of their
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.shared.app.wording import escaped
from pages.shared.teaching.classroom import in_words
from pages.shared.teaching.lessons import questions

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import Sample, SampleModel
    from pages.shared.teaching.lessons import Question

_STYLE = """
@page {size: A4; margin: 15mm 18mm;}
body {font: 10.5pt/1.3 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24;
  background: #fff;}
h1 {font-size: 1.35rem;} h2 {font-size: 1.05rem; margin: 0.7rem 0 0.1rem 0; break-after: avoid;}
p, ul {margin: 0.3rem 0;}
ul.choices {list-style: "☐ "; padding-left: 1.6rem; columns: 2;}
h1 {margin: 0 0 0.4rem 0;}
.line {border-bottom: 1px solid #5a6069; height: 1.4rem;}
.answers {break-before: page;}
@media print {body {margin: 0; padding: 0; max-width: none;}}
"""


def sheet_of(sample: Sample, model: SampleModel) -> str:
    """The whole file."""
    asked = questions(sample, model)
    title = f"{sample.title}: {model.title}"
    tasks = "".join(_task(number, question) for number, question in enumerate(asked, 1))
    answers = "".join(_answer(number, question) for number, question in enumerate(asked, 1))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title><style>{_STYLE}</style></head><body>
<section><h1>Exercise: {escaped(title)}</h1>
<p>Name: ______________________________ Date: ______________</p>
<p>{escaped(sample.asks)} The people are made up, and a discrimination was planted. Open the demo on the Start page of
Evenhand. Guess first, write it down, then open the page and compare.</p>
{tasks}</section>
<section class="answers"><h1>Right answers: {escaped(title)}</h1>
{answers}</section>
</body></html>
"""


def _task(number: int, question: Question) -> str:
    choices = "".join(f"<li>{escaped(choice)}</li>" for choice in question.choices)
    listed = f'<ul class="choices">{choices}</ul>' if choices else ""
    count = f"<p>My guess: ______ of 100 {escaped(question.counts)}.</p>" if question.counts else ""
    return (
        f"<h2>{number}. {escaped(question.place.title)}</h2><p>{escaped(question.asks)}</p>{listed}{count}"
        '<p>What the page shows, and why:</p><div class="line"></div>'
    )


def _answer(number: int, question: Question) -> str:
    right = in_words(question, question.right, question.n_of_100)
    return f"<h2>{number}. {escaped(question.place.title)}: {escaped(right)}</h2><p>{escaped(question.answer)}</p>"
