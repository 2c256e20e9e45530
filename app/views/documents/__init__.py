"""Documents, where they belong and what is near them."""
