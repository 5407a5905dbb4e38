"""Hooks on a model, the passes they see, and what is recorded of them."""
