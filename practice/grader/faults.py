"""What can come back from a worker instead of an answer."""

from __future__ import annotations


class Fault(Exception):
    """Something other than an answer came back. `verdict` is its place in the contract's list."""

    verdict = "error"

    def __init__(self, message: str, trace: str = "", kind: str = ""):
        super().__init__(message)
        self.trace, self.kind, self.at_import = trace, kind, False


class Raised(Fault):
    """The learner's code raised `kind`; `trace` has its frames."""


class NotAnAnswer(Fault):
    """A value of a type that is no answer to any question of ours."""

    verdict = "wrong answer"


class ChangedArguments(Fault):
    verdict = "wrong answer"


class TookTooLong(Fault):
    verdict = "timeout"


class OutOfMemory(Fault):
    verdict = "memory"


class Crashed(Fault):
    """The process ended, was killed, or wrote into the judge's channel."""

    verdict = "crashed"


class NotRun(Fault):
    """The test was not run: the file cannot be imported, or too many tests ran out of time."""

    verdict = "not run"
