"""Every exception that dx2px raises on purpose.

Dx2pxError
├── InputError          the user's input is wrong; the message says what is wrong, where, and what to do
│   ├── CodeError       a text is not a code of its coding system
│   ├── CohortError     a cohort file, or the tables it is built from, cannot be used
│   ├── ModelError      a model folder cannot be used
│   ├── OtherVersionError   a code is of an ICD version that the model does not know, and may not be mapped
│   └── UnknownCodesError   the model knows none of the codes it was asked about
└── TrainingError       training cannot continue (for example, the loss is not finite)

The command line prints each of them as one sentence and exits with code 1.
A message never contains the record of a patient or a stay.
"""


class Dx2pxError(Exception):
    """Base of all errors that dx2px raises on purpose; its text is one sentence for the user."""


class InputError(Dx2pxError):
    """The user's input is wrong: a setting, a path, an option."""


class CodeError(InputError):
    """A text is not a code of its coding system, or may mean several codes."""


class CohortError(InputError):
    """A cohort file, or the tables it is built from, cannot be used."""


class ModelError(InputError):
    """A model or the checkpoint of a run cannot be used, or the model cannot answer this question."""


class OtherVersionError(InputError):
    """A code is of an ICD version that the model does not know, and was not to be mapped."""


class UnknownCodesError(InputError):
    """The model knows none of the codes it was asked about."""


class TrainingError(Dx2pxError):
    """Training cannot start or continue: the device is missing, or the loss is no longer finite."""
