"""Why a pair was decided differently, and where a model discriminates."""
