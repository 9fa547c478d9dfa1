"""A query as a source of data: one statement that reads, asked of a database, its rows kept as a Parquet file."""
