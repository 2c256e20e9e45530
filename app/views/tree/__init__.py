"""The drawing of a topic tree: boxes, layout, lines, outline."""
