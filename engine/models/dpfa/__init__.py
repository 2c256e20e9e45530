"""The model dpfa: deep Poisson factor analysis."""
