# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Named mutations: each changes a recipe, and says what must come of it when it is alone and the outcome is sure."""

import base64
import hashlib


class Mutations:
    """A registry of mutations of one family."""

    def __init__(self):
        self.all = []

    def add(self, name, verdict=None, reason=None, weight=1):
        """Decorates `function(recipe, rng)`; without a verdict the outcome is the verifiers' to say."""

        def keep(function):
            self.all.append((name, function, (verdict, reason) if verdict else None, weight))
            return function

        return keep

    def choose(self, rng, count):
        return rng.choices(self.all, weights=[m[3] for m in self.all], k=count)


def apply(mutations, recipe, rng):
    """Runs none, one or two mutations; returns their labels and the intended outcome, if one is sure."""
    count = rng.choices([0, 1, 2, 3], weights=[12, 60, 22, 6])[0]
    chosen = mutations.choose(rng, count)
    labels = []
    for name, function, _, _ in chosen:
        detail = function(recipe, rng)
        labels.append(f"{name} ({detail})" if isinstance(detail, str) else name)
    if not chosen:
        return labels, recipe.good
    return labels, chosen[0][2] if count == 1 else None


def sha256(data):
    return hashlib.sha256(data).digest()


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def odd_base64(data, rng):
    """A text that some decoder takes for these bytes, and its name."""
    kind = rng.choice(["url", "url-padded", "unpadded", "mixed", "space", "newline", "spare-bits", "tail", "empty", "percent", "double-padding"])
    text = b64(data)
    if kind == "url":
        return b64url(data), kind
    if kind == "url-padded":
        return base64.urlsafe_b64encode(data).decode(), kind
    if kind == "unpadded":
        return text.rstrip("="), kind
    if kind == "mixed":
        return text.replace("+", "-", 1) if "+" in text else text.replace("/", "_", 1), kind
    if kind == "space":
        return text[:8] + " " + text[8:], kind
    if kind == "newline":
        return text + "\n", kind
    if kind == "spare-bits" and text.endswith("="):
        body = text.rstrip("=")
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        return body[:-1] + alphabet[alphabet.index(body[-1]) + 1] + "=" * (len(text) - len(body)), kind
    if kind == "tail":
        return text + "AAAA", kind
    if kind == "empty":
        return "", kind
    if kind == "percent":
        return text.replace("+", "%2B").replace("=", "%3D"), kind
    return text + "=", kind


def run(hooks, value):
    """Applies hooks in turn; one that cannot be applied to what an earlier one left changes nothing."""
    for hook in hooks:
        try:
            value = hook(value)
        except (ValueError, IndexError, OverflowError, TypeError, AttributeError):
            continue
    return value
