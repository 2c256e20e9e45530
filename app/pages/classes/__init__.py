"""The page of classes and their predictions."""
