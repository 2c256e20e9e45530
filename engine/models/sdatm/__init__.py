"""The model sdatm: the supervised deep autoencoding topic model."""
