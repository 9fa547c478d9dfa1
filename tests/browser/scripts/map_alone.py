"""A page with nothing but the map of the tree in the file MAP_TREE, for tests of the map."""

import os

import numpy as np
import streamlit as st

import partition_trees
from fairness_engine.certification.partition.partition_tree import PartitionTree
from pages.certification.partition_map import partition_map


@st.cache_resource
def stored_tree():
    """One tree for all tabs."""
    with np.load(os.environ["MAP_TREE"]) as file:
        return PartitionTree.from_arrays(dict(file))


@st.cache_resource
def columns_of(is_hostile):
    """The same ones on every rerun, as pages have them."""
    return partition_trees.hostile_columns() if is_hostile else partition_trees.columns()


def main():
    """Draw the map, and beside it what Python knows of the choice; a button puts another map in its place, of which
    nothing is chosen yet.
    """
    st.set_page_config(layout="wide")
    if st.button("Begin anew"):
        n_maps = st.session_state.get("n_maps", 0) + 1
        st.session_state.clear()
        st.session_state["n_maps"] = n_maps
    n_maps = st.session_state.get("n_maps", 0)
    tree = st.session_state.setdefault("one", partition_trees.one_box()) if "one" in st.query_params else stored_tree()
    columns = columns_of("hostile" in st.query_params)
    row = st.number_input("Row of the table", -1, len(tree) - 1, -1, key=f"row of {n_maps}")
    if row != st.session_state.get("row", -1):
        st.session_state["row"] = row
        st.session_state["chosen"] = None if row < 0 else row
    weight = st.segmented_control(
        "Weight", ["domain", "people"], default="domain", required=True, key=f"weight of {n_maps}"
    )
    chosen = st.session_state.get("chosen")
    picked = partition_map(tree, columns, weight=weight, selected=chosen, key=f"map-{n_maps}")
    if picked != chosen:
        st.session_state["chosen"] = picked
        st.rerun()
    st.markdown(f"Chosen: box {chosen}")


main()
