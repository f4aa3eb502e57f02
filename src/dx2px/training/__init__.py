"""Learning: batches of stays, Algorithm 1, checkpoints."""
