"""The model deep-exp-family: deep exponential families."""
