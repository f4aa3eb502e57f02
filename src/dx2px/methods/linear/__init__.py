"""One logistic regression per procedure."""

from dx2px.methods.linear.linear import Linear, LinearConfig

__all__ = ["Linear", "LinearConfig"]
