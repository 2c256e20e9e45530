"""The quality of topics: coherence, diversity, hierarchy and clusters, by the definitions of the literature."""
