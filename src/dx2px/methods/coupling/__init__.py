"""The default method, in the order to read it: `network` (formula and loss), `step`, `beside`, `size`, `settings`,
`model`.

`dx2px.scoring.coupling` has the formula that answers; `network` has the same one with its gradient.
"""

from dx2px.methods.coupling.model import CouplingModel
from dx2px.methods.coupling.network import CouplingConfig
from dx2px.methods.coupling.settings import CouplingTraining

__all__ = ["CouplingConfig", "CouplingModel", "CouplingTraining"]
