"""What an import found in its documents, and how that is reported."""
