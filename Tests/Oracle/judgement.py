# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""What a verifier of the oracle says about a proof, and the words it says it in."""

from dataclasses import dataclass, field

# Reasons that mean one thing: the vectors allow either word, or the words are one seed's name for another's.
CLASSES = {
    "key_mismatch": "malformed",
    "decryption_failed": "malformed",
    "assertion_counter_replay": "counter_not_increasing",
    "challenge_invalid": "token_expired",
    "token_too_old": "token_expired",
}


def reason_class(reason):
    """The class of a reason: the word itself unless the vectors call it the same as another."""
    return CLASSES.get(reason, reason)


class Malformed(Exception):
    """The bytes cannot be read as what they should be."""


@dataclass
class Doubt:
    """A place where the documents allow more than one outcome.

    `verdicts` are the outcomes beside the oracle's own that are allowed here; `reasons` likewise.
    """

    about: str
    verdicts: tuple = ()
    reasons: tuple = ()


@dataclass
class Judgement:
    """One verdict with its reason, every reason found, and where the documents leave room."""

    verdict: str
    reason: str | None
    reasons: list
    doubts: list = field(default_factory=list)
    # Every reason that another order of the same checks would name first.
    any_order: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    def public(self):
        """The three fields that the lab's judge prints."""
        return {"verdict": self.verdict, "reason": self.reason, "reasons": self.reasons}

    def allowed_reasons(self):
        """The classes of reasons under which another verifier agrees, in whatever order it checks."""
        return {reason_class(r) for r in ([self.reason] + list(self.any_order))}


class Findings:
    """Collects what is wrong, in the recommended order of the checks, without stopping at the first."""

    def __init__(self):
        self.refusals = []
        self.doubts = []

    def refuse(self, reason):
        if reason not in self.refusals:
            self.refusals.append(reason)

    def doubt(self, about, verdicts=(), reasons=()):
        self.doubts.append(Doubt(about, tuple(verdicts), tuple(reasons)))
