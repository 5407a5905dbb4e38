"""Files and objects to plain arrays.

``raw``
    what every reader returns.
``files``
    opening files and the checks before a byte is used; arrays of numpy and tables of text.
``graph_files``, ``edge_tables``, ``signal_files``
    the formats of files.
``arrays``, ``objects``, ``signal_objects``
    what lives in memory: arrays, graphs of other libraries, signals and node attributes.

Names are carried along here and matched in :mod:`spectrata.inputs.rows`. Nothing here unpickles, expands entities or
trusts a size it has not checked; every problem with a file is an :class:`~spectrata.errors.InputError` that names it.
"""
