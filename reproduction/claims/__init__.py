"""The paper's claims, the rules that judge them, and the page of verdicts."""
