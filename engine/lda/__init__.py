"""Latent Dirichlet allocation: priors, and coordinate ascent on its variational bound."""
