"""The model lda-gibbs: latent Dirichlet allocation by Gibbs sampling."""
