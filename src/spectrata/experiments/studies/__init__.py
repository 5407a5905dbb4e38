"""Studies of this package's own statements: fidelity, calibration and discrimination."""
