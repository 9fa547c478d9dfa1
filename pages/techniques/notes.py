"""What each technique cannot say, and whom it is for, beside what the techniques say of themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """Three sentences for people who do not search for a living."""

    does: str
    use_when: str
    cannot_say: str


NOTES = {
    "random": Note(
        "Draws people evenly from everything that the columns allow and asks the model about every variant of each.",
        "Always, beside another technique: it shows what plain luck finds for the same number of rows evaluated. Its "
        "share of people found is an honest estimate for people drawn evenly.",
        "It says nothing about the people in your data: evenly drawn people are often implausible. Rare cases stay "
        "hidden.",
    ),
    "data-scan": Note(
        "Asks the model about every variant of every row of your data, one row after the other.",
        "First, when the question is about people who exist: everyone it finds is in your file, apart from the "
        "protected values.",
        "It says nothing about people who are not in the file, and it ends when the file does.",
    ),
    "aequitas": Note(
        "Draws people evenly, keeps those who are decided differently for a protected attribute, and walks on from "
        "each of "
        "them in small steps, because such people lie close together. The directed strategies learn which steps pay.",
        "For many pairs quickly, with any kind of model.",
        "The number found is no share: it looks where it already found something. Use an estimate for how often.",
    ),
    "directed": Note(
        "Looks for many people for whom a protected value tips the decision, and grows from each to people who differ "
        "in one attribute more. What such moves did to the scores before tells which neighbours are likely to be "
        "tipped, too; those are asked about first, in the two variants that differ only.",
        "For as many pairs as possible from the rows evaluated, with any kind of model; the first choice for a slow "
        "one.",
        "What it finds lies around its starts, mostly in attributes that matter little to the model. The number found "
        "is no share.",
    ),
    "maft": Note(
        "Moves rows of your data, a step at a time, to where the decision is close and a protected value tips it, and "
        "then walks around each person found along the attributes that matter least. It feels the slope of the score "
        "by trying each attribute.",
        "For any model that gives scores, when pairs should start from people of your data.",
        "What it finds lies around a limited number of start rows; raise their number for variety. The number found "
        "is no share.",
    ),
    "maft-plus": Note(
        "MAFT that counts every person it asked the model about, also those it tried only to feel a slope, and that "
        "asks nothing twice.",
        "Instead of MAFT, when the number of pairs for the rows evaluated matters more than repeating a published "
        "method.",
        "It wanders further from your data than MAFT: look at the plausibility of what it finds. The number found is "
        "no share.",
    ),
    "eidig": Note(
        "Does what MAFT does, with the exact slope of the score from inside the network instead of an estimate by "
        "trial.",
        "For a plain neural network: a slope costs two evaluations instead of two a column.",
        "It needs the network's inside. What it finds lies around its start rows, and the number found is no share.",
    ),
    "adf": Note(
        "The first of the gradient searches: as EIDIG, with the slope of the training loss, taken anew after every "
        "success.",
        "To compare with published results; EIDIG usually finds more for the same rows evaluated.",
        "It needs the network's inside. What it finds lies around its start rows, and the number found is no share.",
    ),
    "sg": Note(
        "Starts from rows of your data. Around each person found it draws thousands of neighbours, lets the model "
        "decide them, explains "
        "the person by the conditions of a small decision tree, and solves for people who break one of the conditions.",
        "To compare with published results, and to see which conditions lead to pairs.",
        "An explanation costs thousands of rows evaluated, so it finds few people for its budget. The number found is "
        "no share.",
    ),
    "sg-shared": Note(
        "Does what SG does with a few decision trees that all people share, instead of one a person.",
        "When SG's moves are wanted for more than a handful of people, with any kind of model.",
        "A shared explanation is coarser than one of the person's own surroundings. The number found is no share.",
    ),
}
FALLBACK = Note(
    "See its settings and the paper.",
    "See the line above.",
    "The number found is no share of people. Use an estimate for how often.",
)
COMMON_LIMIT = (
    "No search proves that there is nothing to find. It says “none found within the budget”, and another budget may "
    "find some."
)

CERTIFICATION = Note(
    "Cuts the domain into boxes, a range of values for each attribute, and bounds the model's score on a box for "
    "every protected value at once. Where the bounds leave no doubt the people of the box are certified or falsified; "
    "where they do, the box is cut in two, the one with the most undecided people first.",
    "When it must be said for whom the decision does not hang on a protected attribute, and not only for whom it "
    "does: for plain ReLU networks, linear models, decision trees, forests and gradient boosting.",
    "It proves what the model decides for each single individual of the domain, also for people who could not exist. "
    "It says nothing of groups and their rates, nothing of people outside the limits, and nothing of whether the "
    "outcomes in the data were just.",
)
CERTIFICATION_SOURCE = (
    "FairQuant: certifying and quantifying individual fairness of deep neural networks, Algorithms 1-4"
)
PROOF_WORDS = {
    "Certified": "Proved: whatever the protected values, the decision is the same, for every single one of these "
    "individuals.",
    "Falsified": "Proved: for every single one of them, two protected values give two decisions. Some are stored as "
    "pairs.",
    "Undecided": "Neither was proved in the time. It is no pass and no fail. A sample of them is put to the model, "
    "and the share found is given with its interval, apart from what is proved.",
    "Counting": "On a box the score lies between two straight slopes. Beyond a line all individuals are decided "
    "though the box as a whole is not, and they are counted, from below: rounding can only lose some.",
    "Classic": "The published way: a box is decided whole or not at all, and cut no more than a set number of times.",
    "By construction": "A model that does not take the protected attributes cannot decide by them: everybody is "
    "certified at once.",
}
"""What a certification speaks of, in the order in which a reader meets it."""

TESTSGD = Note(
    "Makes every group that values of the protected attributes can make, alone or together: a range of ages, two of "
    "six countries, women of one of them. For each it compares the share with the favourable outcome inside and of "
    "everyone else, over rows of your data and rows one small step away from them. The largest differences come first.",
    "When discrimination may hide in a group that nobody has named: between two attributes, or in a range. It needs "
    "no values to compare, works without a model too, on the outcomes in the data, and on models that take texts.",
    "A difference is no proof of its cause: the groups may differ in what counts. It says nothing of a single person, "
    "and nothing of groups smaller than the least share. Where samples are drawn, a score holds within its interval.",
)
TESTSGD_SUMMARY = (
    "Finds the groups that a model, or a column of outcomes, treats differently from everyone else, however they are "
    "put together."
)
TESTSGD_SOURCE = (
    "TestSGD: interpretable testing of neural networks against subtle group discrimination, Algorithms 1 and 2"
)
THEMIS_LINE = (
    "THEMIS, for comparison, takes the finest groups only, one value of every attribute, and tells the highest share "
    "from the lowest: how far apart two groups can lie, but not which rule keeps them apart."
)
RULE_WORDS = {
    "Rule set": "Conditions that all hold, at most one on each attribute: the people that they hold for are a group.",
    "Support": "The share of the data's rows that a group has. Smaller groups than the least share are not looked at: "
    "what is left of them shows in larger groups, and looks smaller.",
    "Score": "By how many points the favourable shares inside and outside the group differ.",
    "Error": "How far off the score may be, because it is measured on samples. The intervals hold for all rule sets "
    "together, so the top one is not there by luck alone.",
    "Harmed, favoured": "Fewer, or more, than of everyone else get the favourable outcome.",
}
"""What rule sets speak of, in the order in which a reader meets it."""

RETRAINING = Note(
    "Trains the model again on its rows and more: people for whom it discriminated, or samples of its worst group, "
    "with labels that do not hang on a protected attribute. It keeps the model with the least discrimination whose "
    "accuracy falls no further than your tolerance, and measures both models on people and draws that no training saw.",
    "After a search, a certification or rule sets found something that should not be. Several strategies may run side "
    "by side; baselines "
    "(reweighing, thresholds by group, exponentiated gradient, leaving attributes out) stand in the same table.",
    "That the new model does not discriminate: the shares are estimates within intervals, for the attributes and "
    "values of the review. Accuracy is agreement with the labels in your data, and labels can discriminate "
    "themselves. What one group gains may be another's loss.",
)
RETRAINING_SUMMARY = (
    "Makes a model discriminate less within a tolerance on accuracy, and says whether it did: improved, no "
    "improvement, or worse."
)
RETRAIN_WORDS = {
    "Case": "A person, or a pair, that training is shown: found by a search, pinned, or picked among the pairs of a "
    "run.",
    "Tolerance": "How many points of accuracy may be lost. A model beyond it is never kept. Where the labels "
    "themselves discriminate, fewer people decided differently always means more decisions unlike them.",
    "Strategy": "What is added to the rows, with which labels, round after round. The label of a case decides "
    "whether the one side gains or the other loses.",
    "Control": "The same kind of model trained on the same rows without any case: what training alone changes.",
    "Version": "A model that came out of a retraining, with the model it came from. The original stays.",
}
"""What retraining speaks of, in the order in which a reader meets it."""
