"""Files and objects to plain arrays: the room that reads what users hold.

``raw`` is what every reader hands over. ``files`` opens files and checks them; ``graph_files``,
``graph_markup`` and ``signal_files`` know the formats; ``graph_arrays``, ``graph_objects`` and
``signal_objects`` know what lives in memory. Labels are carried along here and matched later.

May import only :mod:`spectrata.errors`. Nothing here unpickles, expands entities or trusts a size
it has not checked; every problem with a file is a :class:`~spectrata.errors.FileFormatError` that
names it.
"""
