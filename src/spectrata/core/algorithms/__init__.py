"""One file per algorithm: functions of a ``Hop`` and ``Options``; ensembles are made from the outputs of others.

``core.registry`` has a row for each.
"""
