"""Start."""

from pages.components import layout, state, steps

layout.heading(steps.START.title)
if steps.START is not steps.START:
    state.require(steps.START)
