"""End to end: real processes, a real broker, Redis, Qdrant's engine and the real embedding model."""
