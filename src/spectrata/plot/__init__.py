"""Pictures of a result; nothing here computes mathematics."""
