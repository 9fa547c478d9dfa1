"""Techniques."""

from pages.components import layout, steps

layout.heading(steps.TECHNIQUES.title)
