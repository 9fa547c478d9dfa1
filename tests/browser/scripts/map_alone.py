"""A page with nothing but the map of a large tree, for tests of the map: ``?boxes=50000``."""

import partition_trees
import streamlit as st

from pages.components.partition_map import partition_map


@st.cache_resource
def large_tree(n_leaves):
    """One tree for all tabs."""
    return partition_trees.split_tree(n_leaves)


def main():
    """Draw the map, and beside it what Python knows of the choice."""
    st.set_page_config(layout="wide")
    tree = large_tree(int(st.query_params.get("boxes", 50_000)))
    columns = partition_trees.columns()
    row = st.number_input("Row of the table", -1, len(tree) - 1, -1)
    if row != st.session_state.get("row", -1):
        st.session_state["row"], st.session_state["chosen"] = row, None if row < 0 else row
    weight = st.segmented_control("Weight", ["domain", "people"], default="domain", required=True)
    chosen = st.session_state.get("chosen")
    picked = partition_map(tree, columns, weight=weight, selected=chosen, key="map")
    if picked != chosen:
        st.session_state["chosen"] = picked
        st.rerun()
    st.markdown(f"Chosen: box {chosen}")


main()
