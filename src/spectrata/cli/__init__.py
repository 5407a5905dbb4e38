"""The command line: reads arguments, calls the library, prints; no mathematics.

``app`` the program and its commands, ``options`` the flags that they share, ``commands/`` one file each, ``render``
text and tables, ``describe`` graphs and tests in words, ``files`` results on disk, ``failures`` exit codes and Ctrl-C.
"""
