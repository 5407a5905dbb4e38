"""Files to plain arrays: the room that opens what users have on disk.

May import only :mod:`spectrata.errors`. Nothing here unpickles, expands
entities or trusts a size it has not checked; every problem is a
:class:`~spectrata.errors.FileFormatError` that names the file.
"""
