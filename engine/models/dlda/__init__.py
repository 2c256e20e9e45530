"""The model dlda: deep latent Dirichlet allocation."""
