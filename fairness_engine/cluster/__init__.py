"""Several processes, here or on other machines, that work on the blocks of one run; only with ``evenhand[cluster]``."""
