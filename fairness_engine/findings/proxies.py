"""Cards of proxies: which other columns tell a protected attribute, whether the model leans on them, and what is left
of a difference between groups when they are held.
"""

from __future__ import annotations

from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Action, Figure, Finding, Level, Place, Subject, Tried
from fairness_engine.measures.proxies.results import AttributeProxies, ColumnTells, GroupDifference, Measure, Proxies
from fairness_engine.telling.wording import count, listed, share

MAX_CARDS = 3
_CHANCE = {Measure.AUC: "AUC {:.2f}, 0.5 by chance", Measure.R2: "R squared {:.2f}, 0 by chance"}
_NAMES = {Measure.AUC: "AUC", Measure.R2: "R squared"}


def proxy_cards(runs: list[Evidence], ignored: frozenset[str]) -> tuple[list[Finding], list[Tried]]:
    """One card for each attribute that a column tells, of the newest run; for attributes that no decision depends on it
    claims nothing of the model, and is told apart.

    Args:
        ignored: of which it is known that no decision about the data's people depends on them.
    """
    cards: list[Finding] = []
    tried: list[Tried] = []
    for one in runs[:1]:
        found = one.results.proxies
        for told in found.attributes if found is not None else ():
            if not told.strongest:
                tried.append(_no_proxy(one, told))
            elif told.protected in ignored and one.run.config.model_id:
                tried.append(_of_ignored(one, told))
            else:
                assert found is not None, "it has attributes"
                cards.append(_card(one, found, told))
    return sorted(cards, key=lambda card: -card.weight)[:MAX_CARDS], tried


def _card(one: Evidence, found: Proxies, told: AttributeProxies) -> Finding:
    strongest = [each for each in told.columns if each.column in told.strongest]
    names = listed(told.strongest)
    together = told.together
    sentence = (
        f"All other columns together tell {told.protected} with {_CHANCE[told.measure].format(together.value)} "
        f"({together.low:.2f} to {together.high:.2f}), on {count(told.n_held_out)} rows that were not learnt from: "
        f"{listed([_tells(each, told.measure) for each in strongest])}."
    )
    if together.value < strongest[0].tells.value:
        sentence += " Together they tell less than one alone: of many columns less is learnt from the same rows."
    facts = []
    if found.shap is not None:
        carried = [(each.column, found.shap.shares.get(each.column, 0.0)) for each in strongest]
        whom = f"for {count(found.shap.n_people)} people"
        if any(part > 0 for _, part in carried):
            parts = listed([f"{name} {share(part)}" for name, part in carried])
            facts.append(f"Of what moves the model's scores {whom}: {parts}.")
        else:
            facts.append(f"{'It moves' if len(carried) == 1 else 'They move'} none of the model's scores {whom}.")
    facts += [_difference(told, each) for each in told.differences[:3]]
    return Finding(
        key=f"proxy|{told.protected}",
        subject=Subject.PROXY,
        level=Level.ESTIMATED,
        title=f"{names} {'tells' if len(told.strongest) == 1 else 'tell'} {told.protected}",
        sentence=sentence[0].upper() + sentence[1:],
        n=told.n_held_out,
        population="rows of the data that were not learnt from",
        run_ids=(one.run.id,),
        action=Action(Place.RUN, one.run.id, "See how it was measured"),
        figure=Figure(together.value, together.low, together.high),
        facts=tuple(facts),
        weight=together.value,
    )


def _tells(column: ColumnTells, measure: Measure) -> str:
    tells = column.tells
    return f"{column.column} alone {_NAMES[measure]} {tells.value:.2f} ({tells.low:.2f} to {tells.high:.2f})"


def _signed(change: float) -> str:
    """In points, with a real sign."""
    return f"{100 * change:+.1f}".replace("-", "\N{MINUS SIGN}")


def _difference(told: AttributeProxies, each: GroupDifference) -> str:
    """``Female against Male: −27.6 points favourable, and −3.1 (−5.0 to −1.2) among people alike in all else.``"""
    raw = each.raw
    group = f"{told.protected} {each.group}" if each.group[:1].isdigit() else each.group
    text = f"{group} against {each.reference}: {_signed(raw.value)} points ({_signed(raw.low)} to "
    text += f"{_signed(raw.high)}) in the favourable outcome"
    if each.held is None:
        return f"{text}; what is left among people alike in all else is not told: {each.why}"
    held = each.held
    left = f"{_signed(held.value)} ({_signed(held.low)} to {_signed(held.high)})"
    return f"{text}; {left} among people alike in all other columns."


def _no_proxy(one: Evidence, told: AttributeProxies) -> Tried:
    return Tried(
        f"Proxies of {told.protected}",
        f"{count(len(told.columns))} columns, each alone and all together, on {count(told.n_rows)} rows.",
        f"No column tells {told.protected} better than chance for certain, all columns taken together.",
        "That none does: a weak one may need more rows, and a proxy may be made of several columns.",
        (one.run.id,),
        Level.ESTIMATED,
    )


def _of_ignored(one: Evidence, told: AttributeProxies) -> Tried:
    names = listed(told.strongest)
    return Tried(
        f"Proxies of {told.protected}, on which no decision depends",
        f"{names} {'tells' if len(told.strongest) == 1 else 'tell'} it; together {_NAMES[told.measure]} "
        f"{told.together.value:.2f} ({told.together.low:.2f} to {told.together.high:.2f}).",
        "Groups can fare differently through these columns, as their people differ in them.",
        f"That the model decides by {told.protected}: no person of the data gets another decision with another value.",
        (one.run.id,),
        Level.ESTIMATED,
    )
