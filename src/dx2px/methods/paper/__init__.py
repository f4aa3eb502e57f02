"""The paper's model, in the order to read it.

As printed, in plain torch: `attention` (eqs 3, 4), `network` (eq 1), `transport` (Algorithm 2), `objective` (eqs 2, 5,
6, 8). For speed: `arrangement` and `kernels`, compiled, with the gradient written out by hand. `step` is one step of
Algorithm 1, with either of the two; `batch`, `settings` and `model` connect it to the training loop.
"""

from dx2px.methods.paper.model import PaperModel
from dx2px.methods.paper.network import PaperConfig
from dx2px.methods.paper.settings import PaperTraining
from dx2px.methods.paper.transport import TransportConfig

__all__ = ["PaperConfig", "PaperModel", "PaperTraining", "TransportConfig"]
