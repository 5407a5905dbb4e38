"""Hostile input for every reader and for the command line; ``test_fuzz.py`` runs it.

A target (``targets``) turns bytes into a file and reads it by the public door; ``mutate`` and ``containers`` damage
bytes, text and what is inside archives; ``driver`` tries them in a child process with bounds on time and memory.
"""
