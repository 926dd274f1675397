"""The privacy of a release: sensitivity, noise, accounting, certificate. Proof notes stand beside the files."""
