"""Says how the verbs run here: ``python -m noisewise.core.native``."""

from noisewise.core.native.verbs import engine_words

if __name__ == "__main__":
    print(f"noisewise runs on {engine_words()}")  # noqa: T201 - that is what it is for
