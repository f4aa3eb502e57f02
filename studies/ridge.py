"""Ridge regression that chooses its penalty by leaving one out, exactly and without refitting.

Shared by the studies; not run by itself.

Axes: n stays, m features, y outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PENALTIES = 10.0 ** np.arange(-3, 5)  # relative to the mean eigenvalue of XᵀX
LEFT_OUT = 5_000  # stays by which the penalty is chosen, where there are more


@dataclass(frozen=True)
class Ridge:
    """A linear model of each outcome."""

    coefficients: Floats  # (m, y)
    intercept: Floats  # (y,)

    def predict(self, X: Floats) -> Floats:
        """(n, y)"""
        return X @ self.coefficients + self.intercept


def ridge(X: Floats, Y: Floats, groups: tuple[slice, ...]) -> Ridge:
    """Fit all outcomes; those of a group share the penalty that leaves the smallest error on stays left out."""
    means, levels = X.mean(0), Y.mean(0)
    centred, raised = X - means, Y - levels
    values, axes = _axes(centred)  # (k,) (m, k)
    projected = axes.T @ (centred.T @ raised)  # (k, y)
    penalties = PENALTIES * values.mean()
    Z = centred[:LEFT_OUT] @ axes  # (n, k)
    errors = np.array(
        [_left_out(Z, raised[:LEFT_OUT], projected, values + one, 1 / len(X)) for one in penalties]
    )
    coefficients = np.empty((X.shape[1], Y.shape[1]))
    for group in groups:
        best = penalties[errors[:, group].sum(1).argmin()]
        coefficients[:, group] = axes @ (projected[:, group] / (values + best)[:, None])
    return Ridge(coefficients, levels - means @ coefficients)


def _axes(X: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of XᵀX that are not zero by construction, and their vectors."""
    if len(X) <= X.shape[1]:
        _, singular, axes = np.linalg.svd(X, full_matrices=False)
        return singular**2, axes.T
    values, axes = np.linalg.eigh(X.T @ X)
    return np.maximum(values, 0.0), axes


def _left_out(Z: Floats, Y: Floats, projected: Floats, penalised: Floats, level: float) -> Floats:
    """Each outcome's mean squared error for a stay that the fit has not seen: residual / (1 − leverage)."""
    leverage = level + (Z**2) @ (1 / penalised)  # (n,) `level` is the intercept's part
    residual = Y - Z @ (projected / penalised[:, None])  # (n, y)
    return np.asarray(((residual / np.maximum(1 - leverage, 1e-9)[:, None]) ** 2).mean(0))
