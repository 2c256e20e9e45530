"""Figures for papers: `request` lists the kinds, `read` reads what they show, `style` writes files."""
