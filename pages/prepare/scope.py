"""Scope."""

from pages.components import layout, state, steps

layout.heading(steps.SCOPE.title)
if steps.SCOPE is not steps.START:
    state.require(steps.SCOPE)
