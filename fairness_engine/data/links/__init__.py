"""Linked attributes: what is said of them, and what they make of rows."""
