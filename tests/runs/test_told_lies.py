"""Real streams of a model's process, each with one lie: the run ends as crashed, in a sentence that says which; and a
sample of what ``benchmarks/altered_streams.py`` tells.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from altered_streams import alter, alter_answer, answer_problems, problems
from fairness_engine import codec
from fairness_engine.arrays import pack_array, unpack_array
from fairness_engine.data.schema import Schema
from fairness_engine.errors import MAX_MESSAGE, EvenhandError, ProcessError
from fairness_engine.model_process.questions import Question
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.possible_pairs import PossiblePairs, Seen
from fairness_engine.pairs import Pairs
from fairness_engine.runs import recorder
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore
from recorded_streams import KINDS, Recorded, answer, questions, record, record_answers, tell
from worker_cases import SCHEMA

pytestmark = pytest.mark.thorough

NAMES = ("search: a tree", "estimate", "count", "certify: tree", "rules", "rules: texts", "proxies")
"""What takes no large library to record."""
N_ALTERED = 40
"""Of each."""
ASKED = ("scores", "decisions", "summary", "fit", "plausible", "where", "group_figures", "box", "simplify", "trainable")
Line = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """A store, and what was recorded in it."""

    store: RunStore
    recorded: dict[str, Recorded]

    def run(self, name: str, lines: list[bytes]) -> RunRecord:
        """The run of a stream."""
        said = b"".join(line + b"\n" for line in lines)
        return tell(self.store, self.recorded[name].config, said)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    store = RunStore(tmp_path_factory.mktemp("workspace"))
    return Told(store, {name: record(store, KINDS[name](store)) for name in NAMES})


def changed(lines: tuple[bytes, ...], what: str, change: Callable[[Line], Any], *, last: bool = False) -> list[bytes]:
    """The stream with the first, or the last, line of an event or of a result changed."""
    contents = [json.loads(line) for line in lines]
    at = [i for i, content in enumerate(contents) if what in (content.get("event"), content.get("name"))]
    line = contents[at[-1 if last else 0]]
    change(line["content"] if line.get("event") == "ResultReady" else line)
    return [json.dumps(content).encode() for content in contents]


def without(lines: tuple[bytes, ...], what: str) -> list[bytes]:
    """The stream without the lines of an event or of a result."""
    contents = ((line, json.loads(line)) for line in lines)
    return [line for line, content in contents if what not in (content.get("event"), content.get("name"))]


def with_line(lines: tuple[bytes, ...], line: Line | str) -> list[bytes]:
    """The stream with one more line, behind the greeting and the reply to ``open``."""
    text = line if isinstance(line, str) else json.dumps(line)
    return [*lines[:2], text.encode(), *lines[2:]]


def numbers(line: Line, name: str, change: Callable[[np.ndarray[Any, Any]], Any]) -> None:
    """Change an array of a line in its place."""
    array = unpack_array(line[name])
    line[name] = pack_array(change(array))


# --- one lie each -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_was_recorded_is_taken(told: Told, name: str) -> None:
    run = told.run(name, list(told.recorded[name].lines))
    assert (run.state, run.message) == (RunState.FINISHED, None)
    assert problems(told.store, run) == []


SEARCH: dict[str, tuple[str, Callable[[Line], Any], str]] = {
    "an evaluation of 400 digits": ("Progress", lambda e: e.update(evaluations=10**400), "no event"),
    "not a number": ("Progress", lambda e: e.update(seconds=float("nan")), "no event"),
    "true as a count": ("Progress", lambda e: e.update(n_tried=True), "no event"),
    "half a letter": ("Progress", lambda e: e.update(phase="\ud800"), "no event"),
    "more than such an event says": ("Progress", lambda e: e.update(surprise=1), "no event"),
    "a reason there is none of": ("Stopped", lambda e: e.update(reason="bored"), "no event"),
    "more found than tried": ("Progress", lambda e: e.update(n_tried=1), "more people than it tried"),
    "pairs counted that never came": ("Progress", lambda e: e.update(n_found=13), "counts pairs that it never sent"),
    "an end before the progress": ("Stopped", lambda e: e.update(evaluations=3), "runs backwards"),
    "an end after too few": ("Stopped", lambda e: e.update(evaluations=10**6, n_found=11), "runs backwards"),
    "pairs out of order": (
        "PairsFound",
        lambda e: numbers(e, "evaluation", lambda a: a[::-1]),
        "pairs out of their order",
    ),
    "evaluations that never were": (
        "PairsFound",
        lambda e: numbers(e, "evaluation", lambda a: a + 10**9),
        "do not agree (evaluations of pairs)",
    ),
    "a curve of more evaluations": (
        "discovery",
        lambda c: c["evaluations"].append(10**9) or c["n_found"].append(12),
        "do not agree (evaluations of the curve)",
    ),
    "a curve of fewer pairs": (
        "discovery",
        lambda c: c.update(evaluations=c["evaluations"][:1], n_found=c["n_found"][:1]),
        "do not agree (pairs of the curve)",
    ),
    "more leaves than there are": ("diversity", lambda c: c.update(n_leaves=1), "a result that cannot be (diversity)"),
    "leaves of other pairs": ("diversity", lambda c: c.update(n_pairs=13), "do not agree (pairs of the diversity)"),
    "more measured than found": ("plausibility", lambda c: c.update(n_measured=13), "do not agree (people who were"),
    "more implausible than measured": ("plausibility", lambda c: c.update(n_far=13, n_implausible=13), "cannot be"),
    "a share that is none": ("GroupScored", lambda e: e.update(score=0.9), "a result that cannot be (group_score)"),
    "a sample of people from elsewhere": (
        "PeopleSampled",
        lambda e: numbers(e["arrays"], "rows", lambda a: a + 1_000),
        "a sample of people that cannot be (people outside the domain)",
    ),
    "a sample of a longer search": (
        "PeopleSampled",
        lambda e: numbers(e["arrays"], "totals", lambda a: a + 5),
        "do not agree (totals of the sample of people)",
    ),
    "a sample of more found than there are": (
        "PeopleSampled",
        lambda e: numbers(e["arrays"], "is_found", np.ones_like),
        "a sample of people that cannot be (how many were tested)",
    ),
    "a sample that runs backwards": (
        "PeopleSampled",
        lambda e: numbers(e["arrays"], "test", lambda a: a[::-1]),
        "a sample of people that cannot be (their order)",
    ),
    "a sample without its phases": ("PeopleSampled", lambda e: e.update(phases=[]), "cannot be (phases)"),
    "a sample of other parts": ("PeopleSampled", lambda e: e["arrays"].pop("phase"), "cannot be (its parts)"),
    "a sample of text": ("PeopleSampled", lambda e: e["arrays"].update(phase="a"), "no event"),
    "a reading of itself": ("reading", lambda c: c.update(better={"layout": 5}), "a result that cannot be (reading)"),
    "a way without its fit": ("reading", lambda c: c.update(ways=[{"order": "a"}]), "cannot be (reading)"),
}


@pytest.mark.parametrize(("what", "change", "said"), SEARCH.values(), ids=SEARCH)
def test_a_search_with_one_lie(told: Told, what: str, change: Callable[[Line], Any], said: str) -> None:
    run = told.run("search: a tree", changed(told.recorded["search: a tree"].lines, what, change))
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")
    assert problems(told.store, run) == []


EVENTS: dict[str, tuple[str, Line | str, str]] = {
    "deep": (
        "search: a tree",
        '{"event":"ResultReady","name":"notes","content":' + "[" * 100_000,
        "no event (too deep)",
    ),
    "a share of a search": (
        "search: a tree",
        {"event": "ShareEstimated", "share": 0.5, "low": 0, "high": 1, "n_hits": 1, "n": 2, "distribution": "uniform"},
        "a share that nobody asked for",
    ),
    "a sample of a count": (
        "count",
        {"event": "PeopleSampled", "arrays": {}, "phases": ["a"]},
        "a sample of people that nobody asked for",
    ),
    "a group score of a count": (
        "count",
        {"event": "GroupScored", "score": 0.0, "shares": [0.5], "counts": [1], "groups": ["a"]},
        "a group score that nobody asked for",
    ),
    "an answer that is true": ("count", {"reply": True}, "neither an event nor a reply"),
    "too many notes": (
        "count",
        {"event": "ResultReady", "name": "notes", "content": {"notes": ["a"] * 300}},
        "a result that cannot be (notes)",
    ),
    "counts before rule sets": (
        "rules",
        {"event": "ResultReady", "name": "rules", "content": {"n_rule_sets": 1, "n_rows": 1, "n_shown": 1}},
        "do not agree (counts of rule sets that it never sent)",
    ),
}


@pytest.mark.parametrize(("name", "line", "said"), EVENTS.values(), ids=EVENTS)
def test_a_line_that_does_not_belong_there(told: Told, name: str, line: Line | str, said: str) -> None:
    run = told.run(name, with_line(told.recorded[name].lines, line))
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")


OTHERS: dict[str, tuple[str, str, Callable[[Line], Any], str]] = {
    "draws of something else": (
        "estimate",
        "ShareEstimated",
        lambda e: e.update(distribution="data"),
        "distribution of the share",
    ),
    "more draws than asked for": (
        "estimate",
        "ShareEstimated",
        lambda e: e.update(n=3_001, n_hits=0, share=0.0, low=0.0),
        "draws of the share",
    ),
    "everybody and more": (
        "count",
        "count",
        lambda c: c.update(n_individuals=10**15, n_discriminatory=0, share=0.0),
        "individuals of the domain",
    ),
    "another count": (
        "count",
        "count",
        lambda c: c.update(n_discriminatory=1, share=1 / c["n_individuals"]),
        "do not agree (individuals)",
    ),
    "a proof of something else": ("certify: tree", "certification", lambda c: c.update(mode="classic"), "asked for"),
    "another share than the tree's": (
        "certify: tree",
        "certification",
        lambda c: c.update(certified=c["certified"] - 1e-3, undecided=c["undecided"] + 1e-3),
        "do not agree (what is certified)",
    ),
    "other counterexamples": (
        "certify: tree",
        "certification",
        lambda c: c.update(n_counterexamples=1),
        "do not agree (counterexamples)",
    ),
    "other rule sets": ("rules", "rules", lambda c: c.update(n_shown=c["n_shown"] - 1), "counts of rule sets"),
    "a group of no attribute": (
        "rules",
        "rules",
        lambda c: c["themis"]["highest"].update(rules=[{"column": "age", "values": ["old"]}]),
        "rules of a group",
    ),
    "a value of no attribute": (
        "rules",
        "rules",
        lambda c: c["themis"]["highest"]["rules"][0].update(values=["Martian"]),
        "rules of a group",
    ),
    "another attribute": (
        "proxies",
        "proxies",
        lambda c: c["attributes"][0].update(protected="race"),
        "a result that cannot be (proxies)",
    ),
    "a column that was not looked at": (
        "proxies",
        "proxies",
        lambda c: c["attributes"][0]["columns"].pop(),
        "columns of an attribute",
    ),
    "a group of nobody": (
        "proxies",
        "proxies",
        lambda c: c["attributes"][0]["differences"][0].update(group="Martian"),
        "groups of an attribute",
    ),
    "more rows than were asked for": (
        "proxies",
        "proxies",
        lambda c: c.update(n_rows=401) or c["attributes"][0].update(n_left_out=1),
        "rows of the data",
    ),
    "more people explained than were asked for": (
        "proxies",
        "proxies",
        lambda c: c["shap"].update(n_people=6),
        "people who were explained",
    ),
    "shares of another column": (
        "proxies",
        "proxies",
        lambda c: c["shap"]["shares"].update(soul=c["shap"]["shares"].pop("race")),
        "columns of the explanation",
    ),
    "other columns at the end": ("proxies", "Stopped", lambda e: e.update(n_tried=7), "do not agree (columns)"),
    "a sentence of no rule set": (
        "rules: texts",
        "sentences",
        lambda c: c["pairs"][0].update(rule_set=99),
        "rule sets of sentences",
    ),
    "a decision that is no class": (
        "rules: texts",
        "sentences",
        lambda c: c["pairs"][0].update(decisions=[10**6, 0]),
        "a result that cannot be (sentences)",
    ),
    "terms that were not counted": (
        "rules: texts",
        "rules",
        lambda c: c["texts"]["by_term"]["faith"].pop("Muslim"),
        "terms that were counted",
    ),
    "more texts with a term than texts": (
        "rules: texts",
        "rules",
        lambda c: c["texts"].update(n_holding=10**6),
        "a result that cannot be (rules)",
    ),
}


@pytest.mark.parametrize(("name", "what", "change", "said"), OTHERS.values(), ids=OTHERS)
def test_another_run_with_one_lie(told: Told, name: str, what: str, change: Callable[[Line], Any], said: str) -> None:
    run = told.run(name, changed(told.recorded[name].lines, what, change))
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")
    assert problems(told.store, run) == []


def test_shares_that_run_backwards(told: Told) -> None:
    lines = changed(
        told.recorded["estimate"].lines,
        "ShareEstimated",
        lambda e: e.update(n=1, n_hits=0, share=0.0, low=0.0, high=1.0),
        last=True,
    )
    assert "shares that run backwards" in (told.run("estimate", lines).message or "")


@pytest.mark.parametrize(
    ("name", "what", "said"),
    [
        ("certify: tree", "certification", "a certification without its last word"),
        ("certify: tree", "TreeReady", "a certification without its tree"),
        ("rules", "RulesScored", "counts of rule sets that it never sent"),
        ("search: a tree", "PairsFound", "counts pairs that it never sent"),
    ],
)
def test_what_must_have_come(told: Told, name: str, what: str, said: str) -> None:
    run = told.run(name, without(told.recorded[name].lines, what))
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")


def test_nobody_is_found_twice(told: Told) -> None:
    lines = told.recorded["search: a tree"].lines
    at = next(i for i, line in enumerate(lines) if line.startswith(b'{"event":"PairsFound"'))
    run = told.run("search: a tree", [*lines[: at + 1], lines[at], *lines[at + 1 :]])
    assert "an individual twice" in (run.message or "")
    assert run.n_found == told.store.n_pairs(run.id) == 12


def test_a_run_that_crashes_counts_the_pairs_that_it_stored(told: Told) -> None:
    """What was told on the way is not what is there."""
    lines = told.recorded["search: a tree"].lines
    at = next(i for i, line in enumerate(lines) if line.startswith(b'{"event":"Stopped"'))
    run = told.run("search: a tree", list(lines[:at]))
    assert (run.state, run.n_found, told.store.n_pairs(run.id)) == (RunState.CRASHED, 12, 12)


def test_who_was_found_was_tried_though_the_run_ended_before_it_said_so(told: Told) -> None:
    lines = told.recorded["search: a tree"].lines
    at = next(i for i, line in enumerate(lines) if line.startswith(b'{"event":"PairsFound"'))
    run = told.run("search: a tree", list(lines[: at + 1]))
    assert (run.state, run.n_found, run.n_tried) == (RunState.CRASHED, 12, 12)


def test_a_message_of_the_process_is_one_sentence(told: Told) -> None:
    lines = told.recorded["count"].lines
    said = json.dumps({"reply": 2, "error": "ModelError", "message": "<b>no</b>\n" * 500})
    run = told.run("count", [*lines[:2], said.encode()])
    assert run.state is RunState.FAILED
    assert len(run.message or "") == MAX_MESSAGE
    assert "\n" not in (run.message or "")


def test_all_lines_of_a_run_have_a_limit_together(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MAX_RUN_BYTES", 10_000)
    lines = told.recorded["estimate"].lines
    run = told.run("estimate", list(lines))
    assert run.state is RunState.CRASHED
    assert "it sent more than" in (run.message or "")


def test_a_line_of_many_values_is_refused_before_it_is_read(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_VALUES", 50)
    run = told.run("count", with_line(told.recorded["count"].lines, {"reply": [[]] * 100}))
    assert "neither an event nor a reply" in (run.message or "")


# --- pairs --------------------------------------------------------------------------------------


def test_values_that_are_not_compared_make_no_pair() -> None:
    schema = Schema.read(SCHEMA)
    scope = Scope(("age",), bins={"age": (20, 60)})
    domain = Domain(schema, scope)
    first, second = (domain.low[None].copy() for _ in range(2))
    first[0, schema.index("age")] = 20
    second[0, schema.index("age")] = 60
    decisions = (np.zeros(1, np.int64), np.ones(1, np.int64))
    pair = Pairs(first, second, np.zeros(1), np.ones(1), *decisions, np.zeros(1, np.int64))
    possible = PossiblePairs(schema, scope)
    possible.check(pair)
    second[0, schema.index("age")] = 30
    with pytest.raises(ValueError, match="protected attributes are not compared"):
        possible.check(pair)


@pytest.mark.parametrize("limits", [{}, {"age": (30, 40), "hours_per_week": (40, 41)}])
def test_individuals_are_the_ones_that_the_search_tells_apart(limits: dict[str, tuple[float, float]]) -> None:
    domain = Domain(Schema.read(SCHEMA), Scope(("sex",), limits=limits))
    possible = PossiblePairs(Schema.read(SCHEMA), Scope(("sex",), limits=limits))
    rows = domain.sample(500, np.random.default_rng(0))
    rows = np.concatenate([rows, domain.with_variant(rows, np.ones(500, np.int64))])
    theirs, ours = (np.unique(keys, return_inverse=True)[1] for keys in (domain.keys(rows), possible.individuals(rows)))
    assert (
        len(set(zip(theirs.tolist(), ours.tolist(), strict=True)))
        == len(set(theirs.tolist()))
        == len(set(ours.tolist()))
    )


def test_who_was_met_is_known_again_whatever_the_batches() -> None:
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, 2**63, 5_000).astype(np.uint64))
    rng.shuffle(keys)
    seen = Seen()
    start = 0
    while start < len(keys):
        size = int(rng.integers(1, 300))
        assert seen.meet(keys[start : start + size])
        start += size
    assert all(not seen.meet(np.array([key, 1], np.uint64)) for key in keys[::500])
    assert not Seen().meet(np.array([7, 7], np.uint64))
    assert seen.meet(np.empty(0, np.uint64))


# --- answers to pages ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Answered:
    """Questions about a tree, and the line that answers each."""

    told: Recorded
    asked: dict[str, Question[Any]]
    lines: dict[str, bytes]

    def read(self, name: str, change: Callable[[Line], Any]) -> Any:
        """What a page gets of a changed answer."""
        content = json.loads(self.lines[name])
        change(content)
        return answer(self.told.config, self.asked[name], json.dumps(content).encode())


@pytest.fixture(scope="module")
def answered(told: Told) -> Answered:
    recorded = told.recorded["search: a tree"]
    asked = {name: question for name, question in questions(recorded).items() if name in ASKED}
    return Answered(recorded, asked, record_answers(told.store, recorded.config, list(asked.values())))


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_was_recorded_is_read(answered: Answered, name: str) -> None:
    assert answer_problems(answered.told.config, answered.read(name, lambda _: None)) == []


ANSWERS: dict[str, tuple[str, Callable[[Line], Any], str]] = {
    "a class there is none of": ("scores", lambda c: numbers(c, "decisions", lambda a: a + 2), "are no classes"),
    "scores of nothing": ("scores", lambda c: numbers(c, "scores", lambda a: a[:, :0]), "are no classes"),
    "more least than most": ("decisions", lambda c: numbers(c, "least", lambda a: a + 9), "are no classes"),
    "a summary of text": ("summary", lambda c: c.update(n_rows="many"), "'summary' cannot be read"),
    "a card of numbers": ("fit", lambda c: c["fit"].update(classes=[1, 2]), "'fit' cannot be read"),
    "a card with a share above 1": ("fit", lambda c: c["fit"].update(accuracy=7.0), "'fit' cannot be read"),
    "an area of 400 digits": ("fit", lambda c: c["fit"]["reading"].update(auc=10**400), "'fit' cannot be read"),
    "an input without a name": ("fit", lambda c: c["fit"].update(inputs=[{"how": 5}]), "'fit' cannot be read"),
    "a neighbour of no category": (
        "plausible",
        lambda c: c["plausible"][1]["neighbour"].__setitem__(1, 99.0),
        "a neighbour who cannot be",
    ),
    "a distance of 400 digits": ("plausible", lambda c: c["plausible"][0].update(distance=10**400), "cannot be read"),
    "one person of two": ("plausible", lambda c: c["plausible"].pop(), "it assessed other people"),
    "groups that are not all of theirs": (
        "where",
        lambda c: c["where"]["nodes"][-1]["counts"].__setitem__(2, 10**6),
        "groups that make no tree",
    ),
    "a condition twice": (
        "where",
        lambda c: c["where"]["nodes"][1].update(conditions=c["where"]["nodes"][1]["conditions"] * 2),
        "no tree of groups",
    ),
    "other rows than asked for": ("where", lambda c: c["where"].update(distribution="data"), "groups of other rows"),
    "a group twice": (
        "group_figures",
        lambda c: c["figures"]["tables"][0]["groups"].append(c["figures"]["tables"][0]["groups"][0]),
        "no group figures",
    ),
    "a count of 400 digits": ("group_figures", lambda c: c["figures"].update(n_rows=10**400), "no group figures"),
    "somebody outside the domain": (
        "simplify",
        lambda c: [numbers(c["pair"], side, lambda a: a + 10**6) for side in ("first", "second")],
        "lies outside the domain",
    ),
    "a share of 400 digits": ("box", lambda c: c["box"].update(weight=10**400), "'box' cannot be read"),
    "no object": ("box", lambda c: c.update(box=[[]]), "'box' cannot be read"),
}


@pytest.mark.parametrize(("name", "change", "said"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_with_one_lie(answered: Answered, name: str, change: Callable[[Line], Any], said: str) -> None:
    with pytest.raises(ProcessError) as refused:
        answered.read(name, change)
    assert said in str(refused.value)


# --- a sample by chance -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_altered_stream_is_refused_or_can_be(told: Told, name: str) -> None:
    others = [line for each in told.recorded.values() for line in each.lines if len(line) < 30_000]
    found = {}
    for number in range(N_ALTERED):
        seed = f"{name} {number}"
        lines = told.recorded[name].lines
        run = tell(told.store, told.recorded[name].config, alter(random.Random(seed), lines, others))
        if wrong := problems(told.store, run):
            found[seed] = wrong
    assert found == {}


def test_an_altered_answer_is_refused_or_can_be(answered: Answered) -> None:
    found = {}
    for number in range(30 * len(ASKED)):
        name = ASKED[number % len(ASKED)]
        said = alter_answer(random.Random(f"{name} {number}"), answered.lines[name], list(answered.lines.values()))
        try:
            wrong = answer_problems(answered.told.config, answer(answered.told.config, answered.asked[name], said))
        except EvenhandError as error:
            wrong = [] if len(str(error)) <= MAX_MESSAGE else [str(error)]
        if wrong:
            found[name, number] = wrong
    assert found == {}
