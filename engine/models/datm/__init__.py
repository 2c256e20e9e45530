"""The model datm: the deep autoencoding topic model."""
