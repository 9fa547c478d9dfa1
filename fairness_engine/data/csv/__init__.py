"""From the bytes of a CSV file to columns of text: format, encoding, delimiter, records, numbers."""
