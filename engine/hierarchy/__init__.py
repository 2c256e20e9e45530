"""Topics, trees, paths and their comparison, and the evaluation of models."""
