"""The paper's figures, drawn from our runs."""
