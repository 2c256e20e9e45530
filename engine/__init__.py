"""The engine computes: deep topic models, and nothing of files, clocks, stores or screens."""
