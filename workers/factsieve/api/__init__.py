"""HTTP: read-only checks and the operator's endpoints."""
