"""One file per kind of figure, found by its name: see `app.plots.registry`."""
