"""From the arrays of a snapshot to what people look at: hierarchies, comparisons, inference, predictions."""
