"""Figures for papers: `kinds` draw them, `registry` finds them, `read` gets what they show, `save` writes files."""
