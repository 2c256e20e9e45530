"""Parts that several pages are built from, each with its browser code."""
