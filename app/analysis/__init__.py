"""Results computed from the arrays of a snapshot: hierarchies, comparisons, inference, predictions."""
