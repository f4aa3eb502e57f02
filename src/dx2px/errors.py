"""Every exception that dx2px raises on purpose.

Dx2pxError
├── InputError          what the user gave is wrong; the message says what, where, and what to do
│   ├── CodeError       a text is not a code of its system
│   ├── CohortError     a cohort file, or the tables it comes from, cannot be used
│   ├── ModelError      a model folder cannot be used
│   └── UnknownCodesError   a model knows none of the codes that it is asked about
└── TrainingError       learning cannot go on (loss not finite, for instance)

The command line turns each of them into one sentence and exit code 1.
Messages never carry a patient's or a stay's record.
"""


class Dx2pxError(Exception):
    """Base of all errors raised on purpose."""


class InputError(Dx2pxError):
    """What the user gave cannot be used."""


class CodeError(InputError):
    """A text is not a code of its system."""


class CohortError(InputError):
    """A cohort, or the tables it is built from, cannot be used."""


class ModelError(InputError):
    """A model folder cannot be used."""


class UnknownCodesError(InputError):
    """A model knows none of the codes that it is asked about."""


class TrainingError(Dx2pxError):
    """Learning cannot go on."""
