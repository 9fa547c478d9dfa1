"""What the pages share: state, wording, colours, layout, charts."""
