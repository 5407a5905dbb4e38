"""Hostile input for every reader and for the command line.

``python -m tests.fuzz --help``, from the root of the repository. A target (``targets``) turns bytes into a file
and reads it by the public door; ``mutate`` and ``containers`` damage bytes, text and what is inside archives;
``driver`` runs them in a child process with a bound on time and memory, keeps inputs that reach new lines, and
records whatever is not a documented error; ``branches`` counts what was reached.
"""
