"""What the model's process answers, asked inside this process; the sandbox and the pipes have tests of their own."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.arrays import pack_array
from fairness_engine.codec import decode
from fairness_engine.data.schema import Schema
from fairness_engine.errors import ModelError, ProcessError, RunError, SettingError
from fairness_engine.events import Event, PairsFound, Progress, ResultReady, Stopped, from_line
from fairness_engine.model_process import server, session
from fairness_engine.model_process.protocol import pack_pairs, raise_failure, unpack_pairs
from fairness_engine.model_process.server import RequestServer, main, split
from fairness_engine.model_process.session import open_all
from fairness_engine.model_process.work import start_rows
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.pairs import Pairs
from fairness_engine.store.store import RunStore
from worker_cases import DATA, MODEL, SCHEMA, SCOPE, census_config

REQUEST = {
    "data": {"path": str(DATA), "name": DATA.name},
    "model": {"path": str(MODEL), "name": MODEL.name},
    "schema": Schema.read(SCHEMA).to_json(),
    "scope": SCOPE.to_json(),
}


class Conversation:
    """A child in this process and what it said."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.has_ended = False
        self.child = RequestServer(self.lines.append, self.end)
        self.n_asked = 0

    def end(self) -> None:
        self.has_ended = True

    def ask(self, do: str, **content: Any) -> dict[str, Any]:
        self.n_asked += 1
        self.child.answer({"id": self.n_asked, "do": do, **content})
        reply: dict[str, Any] = json.loads(self.lines.pop())
        assert reply["reply"] == self.n_asked
        return reply

    def events(self) -> list[Event]:
        found = [from_line(line) for line in self.lines if "event" in json.loads(line)]
        self.lines.clear()
        return found


@pytest.fixture
def conversation() -> Conversation:
    return Conversation()


@pytest.fixture
def asked(conversation: Conversation) -> Conversation:
    assert conversation.ask("open", **REQUEST)["n_rows"] == 5000
    return conversation


def test_opening_says_what_was_opened(asked: Conversation) -> None:
    summary = asked.ask("summary")
    assert (summary["is_binary"], summary["threshold"], summary["classes"]) == (True, 0.5, ["<=50K", ">50K"])


def test_a_run_says_events_and_then_replies(asked: Conversation, tmp_path: Path) -> None:
    config = census_config(RunStore(tmp_path))
    reply = asked.ask("run", config=config.to_json())
    assert set(reply) == {"reply", "learned"}
    assert set(reply["learned"]) == {"reading", "surrogate"}  # for the next run of the same question
    events = asked.events()
    assert isinstance(events[-1], Stopped)
    assert any(isinstance(event, Progress) for event in events)
    found = sum(len(event.pairs) for event in events if isinstance(event, PairsFound))
    assert found == events[-1].n_found > 0


def test_what_an_earlier_run_learned_is_not_learned_again(asked: Conversation, tmp_path: Path) -> None:
    config = census_config(RunStore(tmp_path))
    reading = {"state": "unconfirmed", "auc": 0.625}
    tree = {"columns": [0], "thresholds": [0.5], "left": [-1], "right": [-2]}
    reply = asked.ask("run", config=config.to_json(), reading=reading, surrogate=tree)
    assert reply["learned"] == {}
    (told,) = [event.content for event in asked.events() if isinstance(event, ResultReady) and event.name == "reading"]
    assert decode(Reading, told) == decode(Reading, reading)


def test_an_estimate_too(asked: Conversation, tmp_path: Path) -> None:
    config = census_config(RunStore(tmp_path), kind="estimate", technique="", n_samples=500)
    asked.ask("run", config=config.to_json())
    assert asked.events()[-1].n_tried == 500


def test_scores_and_a_plainer_pair(asked: Conversation, tmp_path: Path) -> None:
    asked.ask("run", config=census_config(RunStore(tmp_path)).to_json())
    pairs = next(event.pairs for event in asked.events() if isinstance(event, PairsFound))
    reply = asked.ask("scores", rows=pack_array(pairs.first))
    from fairness_engine.arrays import unpack_array

    assert np.allclose(unpack_array(reply["scores"])[:, 0], pairs.score_first, atol=1e-9)
    assert np.array_equal(unpack_array(reply["decisions"]), pairs.decision_first)
    plain = unpack_pairs(asked.ask("simplify", pair=pack_pairs(pairs[:1]))["pair"], pairs.first.shape[1])
    assert plain.decision_first[0] != plain.decision_second[0]


def test_the_fit_card_needs_no_scope(conversation: Conversation) -> None:
    conversation.ask("open", **{**REQUEST, "scope": None})
    card = conversation.ask("fit")["fit"]
    assert 0.5 < card["accuracy"] <= 1
    assert conversation.ask("simplify", pair={})["error"] == "ProcessError"


def test_errors_are_replies(conversation: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert conversation.ask("scores", rows=None)["message"] == "Nothing was opened yet."
    broken = tmp_path / "model.keras"
    broken.write_bytes(b"nothing")
    reply = conversation.ask("open", **{**REQUEST, "model": {"path": str(broken), "name": "model.keras"}})
    with pytest.raises(ModelError):
        raise_failure(reply)
    scope = {**SCOPE.to_json(), "limits": {"age": [500, 600]}}
    with pytest.raises(SettingError):
        raise_failure(conversation.ask("open", **{**REQUEST, "scope": scope}))
    for raised, said in (
        (MemoryError(), "8 GB"),
        (ValueError("secret"), "(ValueError)"),
        (SystemExit(3), "(SystemExit)"),
    ):

        def fail(request: object, raised: BaseException = raised) -> None:
            raise raised

        monkeypatch.setattr(session, "open_all", fail)
        reply = conversation.ask("open", **REQUEST)
        assert reply["error"] == "ProcessError"
        assert said in reply["message"]
        assert "secret" not in reply["message"]


def test_an_unknown_request_is_refused(asked: Conversation) -> None:
    assert asked.ask("dance")["error"] == "ProcessError"


def test_a_cancel_is_heard_while_a_run_goes_on_and_the_end_ends_it(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.ask("open", **REQUEST)
    config = census_config(RunStore(tmp_path))
    lines = [{"id": 1, "do": "run", "config": config.to_json()}, {"do": "cancel"}]
    stream = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    for request in conversation.child.listen(stream):
        while not conversation.has_ended:
            pass
        conversation.child.answer(request)
    conversation.lines.pop()
    stop = conversation.events()[-1]
    assert isinstance(stop, Stopped)
    assert (stop.reason.value, stop.evaluations) == ("cancelled", 0)


def test_large_batches_are_sent_in_parts() -> None:
    wide = np.zeros((1000, 2000))
    numbers = np.zeros(1000)
    codes = np.zeros(1000, np.int64)
    event = PairsFound(Pairs(wide, wide, numbers, numbers, codes, codes, np.arange(1000)))
    parts = list(split(event))
    assert len(parts) > 1
    assert np.concatenate([p.pairs.evaluation for p in parts]).tolist() == list(range(1000))
    step = Progress(1, 0.1, 1, 1)
    assert list(split(step)) == [step]


def test_start_rows_are_drawn_by_the_seed() -> None:
    rows = np.arange(20.0).reshape(10, 2)
    assert start_rows(rows, None, 1) is rows
    assert start_rows(rows, 10, 1) is rows
    drawn = start_rows(rows, 4, 1)
    assert np.array_equal(drawn, start_rows(rows, 4, 1))
    assert not np.array_equal(drawn, start_rows(rows, 4, 2))
    assert (np.diff(drawn[:, 0]) > 0).all()


def test_failures_keep_their_class_and_unknown_ones_get_one() -> None:
    raise_failure({"reply": 1})
    with pytest.raises(RunError, match="so"):
        raise_failure({"error": "RunError", "message": "so"})
    for name in ("Exception", "SearchStopped", "annotations", 5):
        with pytest.raises(ProcessError):
            raise_failure({"error": name, "message": ""})


def test_pairs_that_are_none_are_refused() -> None:
    pairs = Pairs.empty(3)
    assert len(unpack_pairs(pack_pairs(pairs), 3)) == 0
    for content in (None, {}, {**pack_pairs(pairs), "first": 3}):
        with pytest.raises(ProcessError):
            unpack_pairs(content, 3)
    with pytest.raises(ProcessError):
        unpack_pairs(pack_pairs(replace(pairs, evaluation=np.zeros(0))), 3)


def test_warming_up_compiles_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    nice: list[int] = []
    monkeypatch.setattr(server.os, "nice", nice.append)  # this process keeps its own, and finds the fork server by it
    assert main(["--warm", "searches"]) == 0
    assert nice == [server._WARM_UP_NICENESS]


def test_opening_without_labels_or_with_a_threshold(tmp_path: Path) -> None:
    schema = {**Schema.read(SCHEMA).to_json(), "label": None, "favourable": None}
    schema["columns"] = [
        c if c["name"] != "income" else {"name": "income", "kind": "ignored"} for c in schema["columns"]
    ]
    scope = {**SCOPE.to_json(), "threshold": 0.3}
    held = open_all({**REQUEST, "schema": schema, "scope": scope})
    assert held.model.threshold == 0.3
    assert held.dataset.labels is None
