"""The kernels of all models: a file for each, of the name that its settings have in `engine.models`."""
