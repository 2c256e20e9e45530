"""Networks of binary units above Poisson factors: local Gibbs sweeps, and moves of their weights."""
