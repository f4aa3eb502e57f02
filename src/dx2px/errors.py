"""Every exception that dx2px raises on purpose.

Dx2pxError
├── InputError          the user's input is wrong; the message says what is wrong, where, and what to do
│   ├── CodeError       a text is not a code of its coding system
│   ├── CohortError     a cohort file, or the tables it is built from, cannot be used
│   ├── ModelError      a model folder cannot be used
│   └── UnknownCodesError   the model knows none of the codes it was asked about
└── TrainingError       training cannot continue (for example, the loss is not finite)

The command line prints each of them as one sentence and exits with code 1.
A message never contains the record of a patient or a stay.
"""


class Dx2pxError(Exception):
    """Base of all errors raised on purpose."""


class InputError(Dx2pxError):
    """The user's input cannot be used."""


class CodeError(InputError):
    """A text is not a code of its coding system."""


class CohortError(InputError):
    """A cohort file, or the tables it is built from, cannot be used."""


class ModelError(InputError):
    """A model folder cannot be used."""


class UnknownCodesError(InputError):
    """The model knows none of the codes it was asked about."""


class TrainingError(Dx2pxError):
    """Training cannot continue."""
