"""Data."""

from pages.components import layout, state, steps

layout.heading(steps.DATA.title)
if steps.DATA is not steps.START:
    state.require(steps.DATA)
