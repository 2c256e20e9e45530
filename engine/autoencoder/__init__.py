"""The Weibull encoder, its gradients and optimiser, and the classifier of sDATM."""
