"""Readers of files, one module for each family of formats; the registry finds the READERS of every module."""
