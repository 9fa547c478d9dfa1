"""How the programs of runs and questions are started: loops compiled once, one parent that has everything loaded."""
