"""Every method, declared once: its name, its arrays, its scorer, how it explains, and the class that learns it.

The lists of the command line, the layouts of model folders and the scorers all follow from these declarations. Scorer
and learner are named by their import paths, so that listing the methods imports neither numpy nor torch.

To add a method: write its learner in `dx2px/methods/`, then declare it here. A method of your own, outside the package,
is declared the same way: call `declare` with its classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from dx2px.errors import InputError, ModelError

if TYPE_CHECKING:
    from dx2px.scoring.scorer import Scorer
    from dx2px.scoring.segments import Arrays

Layout = Mapping[str, tuple[str, ...]]  # the axes of each array; axes of the same name have the same length
Settings = Mapping[str, Any]
Explains = Literal["coupling", "transport", "leave-one-out"]
Variant = Literal["e+pooling", "e+sa", "e+ma", "e+sa+ma"]  # of the paper's model
Reference = str | type[Any]  # a class, or where to find it: "module:class"


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: What it is called on the command line, in model folders and in tables.
        arrays: What a model folder keeps. The axes `diagnosis` and `procedure` are those of the vocabularies.
        scorer: The class that scores stays (a `dx2px.scoring.scorer.Scorer`) from arrays and settings.
        explains: Where reasons come from: the method's own coupling, a transport plan between vectors, or how much
            a score falls when a diagnosis is left out.
        learner: The class that learns it (a `dx2px.training.recommender.Recommender`).
        optional: Groups of further arrays; a model has all arrays of a group or none.
    """

    name: str
    arrays: Layout
    scorer: Reference
    explains: Explains
    learner: Reference
    optional: tuple[Layout, ...] = ()

    @property
    def all_arrays(self) -> Layout:
        """With the optional ones."""
        return {name: axes for group in (self.arrays, *self.optional) for name, axes in group.items()}


METHODS: dict[str, Method] = {}
DEFAULT = "coupling"
VARIANTS: tuple[Variant, ...] = get_args(Variant)


def declare(method: Method) -> Method:
    """Register a method under its name. Declaring the same method again changes nothing.

    Args:
        method: The method. It is known in this process only: declare it in each program that uses its models.

    Returns:
        The method.

    Raises:
        InputError: Another method has this name.
    """
    if METHODS.get(method.name, method) != method:
        raise InputError(f"There is a method {method.name!r} already.")
    METHODS[method.name] = method
    return method


def declared(name: str) -> Method:
    """The method that a user named."""
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name]


def resolved(reference: Reference) -> Any:
    """The class that a declaration refers to."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def scorer_of(name: str, arrays: Arrays, settings: Settings) -> Scorer:
    """The scorer of a model."""
    if name not in METHODS:
        raise ModelError(f"Models of the method {name!r} cannot recommend; known: {', '.join(METHODS)}.")
    found: Scorer = resolved(METHODS[name].scorer).of(arrays, settings)
    return found


VECTORS: Layout = {"U": ("diagnosis", "dim"), "V": ("procedure", "dim")}
ATTENTION: Layout = {
    **VECTORS,
    "A": ("head", "dim", "dim"),
    "a": ("head", "dim"),
    "B": ("head", "head"),
    "b": ("head",),
}
SEEN: Layout = {"seen": ("diagnosis",), "popularity": ("procedure",)}

declare(
    Method(
        name="popularity",
        arrays=SEEN,
        scorer="dx2px.scoring.baselines:PopularityScorer",
        explains="leave-one-out",
        learner="dx2px.methods.popularity:Popularity",
    )
)
declare(
    Method(
        name="cooccurrence",
        arrays={**SEEN, "T": ("diagnosis", "procedure")},
        scorer="dx2px.scoring.baselines:TableScorer",
        explains="leave-one-out",
        learner="dx2px.methods.cooccurrence:Cooccurrence",
    )
)
declare(
    Method(
        name="word2vec",
        arrays={**SEEN, **VECTORS},
        scorer="dx2px.scoring.baselines:InnerProductScorer",
        explains="transport",
        learner="dx2px.methods.word2vec:Word2Vec",
    )
)
declare(
    Method(
        name="bpr",
        arrays={**SEEN, **VECTORS},
        scorer="dx2px.scoring.baselines:InnerProductScorer",
        explains="transport",
        learner="dx2px.methods.bpr:Bpr",
    )
)
declare(
    Method(
        name="dwl",
        arrays={**SEEN, **VECTORS},
        scorer="dx2px.scoring.baselines:RuleScorer",
        explains="transport",
        learner="dx2px.methods.dwl:Dwl",
    )
)
declare(
    Method(
        name="gwl",
        arrays={**SEEN, **VECTORS, "sigma": ()},
        scorer="dx2px.scoring.baselines:KappaScorer",
        explains="transport",
        learner="dx2px.methods.gwl:Gwl",
    )
)
declare(
    Method(
        name="linear",
        arrays={**SEEN, "W": ("diagnosis", "procedure"), "b": ("procedure",)},
        scorer="dx2px.scoring.baselines:LinearScorer",
        explains="leave-one-out",
        learner="dx2px.methods.linear:Linear",
    )
)
declare(
    Method(
        name="mlp",
        arrays={
            **SEEN,
            "H": ("diagnosis", "dim"),
            "c": ("dim",),
            "W": ("procedure", "dim"),
            "b": ("procedure",),
        },
        scorer="dx2px.scoring.baselines:MlpScorer",
        explains="leave-one-out",
        learner="dx2px.methods.mlp:Mlp",
    )
)
for _variant in VARIANTS:
    declare(
        Method(
            name=_variant,
            arrays=ATTENTION if "+sa" in _variant else VECTORS,
            scorer="dx2px.scoring.attention:AttentionScorer",
            explains="transport",
            learner="dx2px.methods.paper:PaperModel",
        )
    )
declare(
    Method(
        name=DEFAULT,
        arrays={**VECTORS, "G": ("dim", "dim"), "g": ("dim",), "s": ("diagnosis",), "b": ("procedure",)},
        scorer="dx2px.scoring.coupling:CouplingScorer",
        explains="coupling",
        learner="dx2px.methods.coupling:CouplingModel",
        optional=(  # `dx2px.scoring.evidence` says what these rows are
            {"principal_U": ("diagnosis", "dim"), "principal_s": ("diagnosis",)},
            {
                "coded_U": ("procedure", "dim"),
                "coded_s": ("procedure",),
                "context_U": ("context", "dim"),
                "context_s": ("context",),
            },
            {  # `dx2px.scoring.coupling` says what these do once procedures are coded
                "beside_a": ("procedure",),
                "beside_A": ("procedure", "beside factor"),
                "beside_B": ("procedure", "beside factor"),
            },
        ),
    )
)
