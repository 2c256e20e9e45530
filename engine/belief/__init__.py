"""Sigmoid belief networks and Boltzmann machines above Poisson factors: local Gibbs sweeps and moves of their weights."""
