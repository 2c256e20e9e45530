"""The page of topics and their trees."""
