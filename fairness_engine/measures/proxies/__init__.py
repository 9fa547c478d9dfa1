"""Proxies: other columns that tell a protected attribute, alone and together, and what is left of the difference
between groups when they are held.
"""
