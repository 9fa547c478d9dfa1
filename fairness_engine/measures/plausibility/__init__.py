"""Could these people exist?"""

PHASE = "measuring plausibility"
"""What a run does when it judges who could exist, as people read it."""
SEED = 0
"""Draws of the data whom distances are to: the same people whatever the seed of a run."""
