"""Studies of this package's own statements: fidelity and calibration."""
