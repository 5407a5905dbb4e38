"""What activations tell about a trained model: many trained networks, and measures of their hidden states.

``protocol``
    the declared study: graphs, architectures, depths, seeds, training, rules and halves; fixed before any run
``graphs``, ``structure``
    graphs with features, labels and splits; their hops, parts and eigenbases
``networks``, ``training``
    the architectures, several runs at once; one unit of training
``measures``
    measures of a hidden state, on the device where the model is
``running``
    units over worker processes, stopped and continued at any time; records packed into few files
``records``, ``judging``
    the records as one Dataset; groups, ROC, levels and rank correlations
``tables``, ``figures``, ``page``
    what the study writes: tables, pictures, the file of levels and the page of the docs

``python -m reproduction models`` runs it. Training needs torch, numpy and scipy alone.
"""
