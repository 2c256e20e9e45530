"""Gibbs samplers of local variables: tokens, the layers above them, and the draws that they consist of."""
