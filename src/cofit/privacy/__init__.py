"""The privacy of a release: sensitivity, noise, accounting, certificate. Proof notes are beside the files."""
