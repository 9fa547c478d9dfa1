"""Could these people exist?"""

PHASE = "measuring plausibility"
"""What a run does when it judges who could exist, as people read it."""
