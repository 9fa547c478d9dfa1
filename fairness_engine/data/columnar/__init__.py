"""Columns by their distinct texts: how cells are held, and the sources that bring columns instead of lines."""
