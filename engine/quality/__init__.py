"""How good topics are: coherence, diversity, hierarchy and clusters, in the definitions of the literature."""
