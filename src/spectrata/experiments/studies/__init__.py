"""Studies of this package's own statements: fidelity, calibration, diagnosis, bases."""
