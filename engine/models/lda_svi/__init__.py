"""The model lda-svi: latent Dirichlet allocation by stochastic variational inference."""
