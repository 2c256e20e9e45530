"""Latent Dirichlet allocation: coordinate ascent on its bound, and the kernel of both variational models."""
