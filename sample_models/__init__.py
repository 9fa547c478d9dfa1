"""Small models for the sample data; ``python -m sample_models.make`` trains and writes them."""
