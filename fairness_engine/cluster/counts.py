"""What became of the blocks of a run."""

from __future__ import annotations

from dataclasses import dataclass

from fairness_engine.codec import Count, Text


@dataclass
class ClusterCounts:
    """How a run was shared out.

    Args:
        n_workers: processes of the cluster that have the files open, when they were last counted.
        n_unable: those that could not open them.
        n_done, n_repeated, n_set_aside: blocks answered; asked again, after something was lost; given up.
        n_known: blocks that need not be asked, for a run of the same question that broke off has left their answers.
        dashboard: address of the cluster's own page.
        why: why the cluster did not help; empty where it did, or was not needed.
        is_here: the run is to be worked on this machine alone, as whoever started it chose.
    """

    n_workers: Count = 0
    n_unable: Count = 0
    n_done: Count = 0
    n_repeated: Count = 0
    n_set_aside: Count = 0
    n_known: Count = 0
    dashboard: Text = ""
    why: Text = ""
    is_here: bool = False


HERE = ClusterCounts(why="Not asked: this machine was chosen.", is_here=True)
"""Of a run that is to be worked here, kept before it begins."""
