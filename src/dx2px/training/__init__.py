"""How a model is learned: batches, the loop, checkpoints, several processes, streams. Knows no method."""
