"""The model lda-cavi: latent Dirichlet allocation by coordinate ascent."""
