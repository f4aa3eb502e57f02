"""A model folder, and from its arrays the scores, plans, probabilities, rankings and metrics.

Only numpy, no torch. Every method's formula is here, once: training, answers and the laboratory all use it.
"""
