"""Gibbs samplers of local variables: tokens, layers above them, and the draws they are made of."""
