"""Options of rules for noise within a bound, which have a radius of their own."""

from noisewise.policies.shell.options import SharedOptions, fixed, option


class BoundedNoiseOptions(SharedOptions):
    """What such rules share; each says itself what its horizon and its scale do."""

    horizon: int | None = option(
        None, "The number of measurements planned; no sigma below 1/√horizon is believed."
    )
    noise_bound: float = option(1.0, "R; the certificate holds for noise within ``±noise_bound``.")
    scale: float = option(
        1.0, "Multiplies the stochastic part of the radius; 1 is the reconstruction as derived."
    )
    radius: str | float = fixed("mixture")
    sigma_min: float | None = fixed(None)


class LayeredOptions(BoundedNoiseOptions):
    """The same for rules in layers, which have a ridge of their own as well."""

    horizon: int | None = option(
        None, "The number of measurements planned, which decides how many layers there are."
    )
    ridge: float = fixed(1.0)
