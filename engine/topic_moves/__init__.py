"""How topics and the shapes r move: Dirichlet draws, simplex SG-MCMC steps, exact transitions."""
