"""What activations tell about a trained model: many trained networks, and measures of their hidden states.

``protocol`` declares the study and was fixed before any run; ``python -m reproduction models`` runs it.
"""
