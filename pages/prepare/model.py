"""Model."""

from pages.components import layout, state, steps

layout.heading(steps.MODEL.title)
if steps.MODEL is not steps.START:
    state.require(steps.MODEL)
