"""The Weibull encoder, its gradients and optimiser, ensembles, and the classifier of sDATM."""
