"""One written causal model a data set: structural equations with named parameters."""
