"""Pictures and tables of topics over time and by group."""
