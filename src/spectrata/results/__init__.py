"""The result Dataset: built once, read through one typed view, written whole or not at all."""
