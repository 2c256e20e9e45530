"""The Gibbs sampler on a graphics processor: kernels written once, for groups of lanes or for one lane on the CPU."""
