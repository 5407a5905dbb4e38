"""Files and objects to plain arrays.

``raw``
    what every reader hands over.
``files``
    opening files, and the checks before a byte is used.
``graph_files``, ``graph_tables``, ``graph_markup``, ``graph_json``, ``matrix_market``, ``signal_files``
    the formats of files.
``graph_arrays``, ``graph_objects``, ``graph_annotated``, ``signal_objects``, ``attributes``
    what lives in memory: arrays, graphs of other libraries, PyGSP and AnnData, signals, node attributes.

Labels are carried along here and matched later. May import only :mod:`spectrata.errors`. Nothing here unpickles,
expands entities or trusts a size it has not checked; every problem with a file is a
:class:`~spectrata.errors.FileFormatError` that names it.
"""
