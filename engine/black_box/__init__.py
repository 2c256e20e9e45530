"""Black-box variational inference: variational families, score-function and pathwise gradients, RMSProp."""
