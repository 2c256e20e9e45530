"""Moves of topics and of the shapes r: Dirichlet draws, SG-MCMC steps on the simplex, exact transitions."""
