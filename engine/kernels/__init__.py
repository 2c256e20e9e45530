"""Kernels of the models: the file of each has the name of its settings' file in :mod:`engine.models`."""
