"""What the commands do: read arguments, call the library, print; no mathematics.

``terminal``  consoles, one-line messages, progress ``arguments`` text from the command line into Python arguments
``describe``  a result in lines, tables and JSON ``files``     a result as files in one folder One file for each
command beside them.
"""
