"""Five small data sets with planted discrimination; ``python -m sample_data.make`` writes them."""
