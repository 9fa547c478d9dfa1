"""The evidence of a review on open formats: RO-Crate, Croissant, CycloneDX, in-toto, CSV and Parquet."""
