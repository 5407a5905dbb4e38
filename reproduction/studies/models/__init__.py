"""What activations tell about a trained model: many trained networks, and measures of their hidden states.

``protocol`` declares the study and was fixed before any run. ``graphs`` and ``structure`` hold the graphs, ``networks``
and ``training`` the architectures and one unit of training, ``measures`` the measures of a hidden state, ``running``
all units over processes. ``records`` and ``judging`` make one Dataset, groups, ROC, levels and rank correlations of the
records; ``results``, ``figures``, ``page`` and ``report`` write tables, pictures, the levels and the page of the docs.
``python -m reproduction models`` runs it.
"""
