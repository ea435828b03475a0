"""What a pair of statements is to each other: pure, deterministic, and wary of retiring anything."""
