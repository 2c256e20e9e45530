"""Variational families: parameters, densities, draws, and derivatives of draws with respect to the parameters.

After the appendix of Ranganath, Tang, Charlin and Blei, "Deep exponential families" (AISTATS 2015); implicit
reparameterisation after Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients" (NeurIPS 2018).

Every variable has one or two unconstrained parameters, ``first`` and ``second``.  For a gamma of kind ``SOFTPLUS``, its
shape and scale are the softplus of the two, as in the paper.  For kind ``LOGARITHM``, they are the logarithms of its
shape and mean, which are orthogonal in the Fisher metric, so that steps in one do not disturb the other.
"""

from math import exp, lgamma, log, log1p, sqrt
from typing import Any, NamedTuple, TypeAlias

from topiary.engine.gibbs.augment import draw_exponential, draw_normal, judge_large_gamma
from topiary.engine.jit import compiled, inlined
from topiary.engine.streams import Stream, draw_positive, draw_uniform

GAMMA, BERNOULLI, POISSON, NORMAL = range(4)  # families of a variable
IDENTITY, SIGMOID, SOFTPLUS_LINK = range(3)  # links from the weighted sum of the units above to the mean of a unit
SOFTPLUS, LOGARITHM = range(2)  # kinds of the unconstrained parameters of a gamma

LEAST_SHAPE = 0.005  # bounds of the variational parameters, as in the code released by the authors
LEAST_SCALE = 1e-5
MOST_SHAPE = 1e7
MOST_LOG = 30.0  # the largest logarithm of a mean
LEAST_LOG = -690.0  # the smallest logarithm of a draw, which keeps draws above 1e-300
LEAST_MEAN = 1e-6  # added to the mean of a unit, which the units above could make 0
LEAST_RATE = 1e-10  # added to the rate of a word
_HALF_LOG_TAU = 0.9189385332046727
_LARGE_SHAPE = 8.0  # above it, slopes of draws come from the polynomials below
_LOWEST, _HIGHEST = -3.2, 1.78  # range of l = ln(x / shape) for which these were fitted
# Coefficients, highest power of l first, of G_0 ... G_3 in d ln x / d shape = (G_0 + G_1 / shape + ...) / shape.  The
# form is that of Temme's uniform expansion of the incomplete gamma function (1979), with G_0 = l / (e^l - 1); the
# numbers are a least-squares fit to the derivative in 60 digits, for shapes from 8 and quantiles of up to 7 standard
# deviations, with relative errors below 1e-8.
_SLOPE_0 = (
    2.16558624204e-9, 2.13200066327e-8, -1.4275960436e-8, -8.48975721204e-7, 3.02399330066e-8, 3.31708201268e-5,
    4.81612593329e-8, -0.00138899011062, -8.08050342178e-8, 0.0833333683739, -0.499999971226, 0.999999997358,
)  # fmt: skip
_SLOPE_1 = (
    -1.47051213868e-7, -7.01822027695e-7, 3.87015930711e-6, 2.22712028956e-5, -0.000102774213319,
    -0.000497182875679, 0.00278125569158, 0.00833565086115, -0.0833355447394, 0.166665717556,
)  # fmt: skip
_SLOPE_2 = (
    2.56303936608e-6, -6.40381763e-6, -7.57065154303e-5, 0.000238201822277, 0.00118094347137, -0.00483645890852,
    3.80032621364e-5, 0.0167145416072,
)  # fmt: skip
_SLOPE_3 = (8.73600708784e-5, -0.000767802015799, -0.00110930182905, 0.00809191929715, -0.0102285245598)

Numbers: TypeAlias = Any  # a tuple of floats; numba infers its length, mypy cannot


@inlined
def softplus(x: float) -> float:
    """Return ``ln(1 + e^x)``."""
    if x > 30.0:
        return x
    return log1p(exp(x)) if x > -30.0 else exp(x)


@inlined
def sigmoid(x: float) -> float:
    """Return ``1 / (1 + e^-x)``, the slope of the softplus."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    e = exp(x)
    return e / (1.0 + e)


@inlined
def inverse_softplus(y: float) -> float:
    """Return the x whose softplus is ``y`` > 0."""
    if y > 30.0:
        return y
    return y + log(-exp(-y) + 1.0) if y > 1e-4 else log(y) + 0.5 * y


@inlined
def compute_gamma_functions(x: float) -> Numbers:
    """Return ln Gamma(x), digamma and trigamma of x > 0, to about 1e-9, by Stirling's series at 4 or more."""
    product, inverses, inverse_squares = 1.0, 0.0, 0.0
    while x < 4.0:
        y = 1.0 / x
        product *= x
        inverses += y
        inverse_squares += y * y
        x += 1.0
    y = 1.0 / x
    z = y * y
    log_x = log(x)
    log_gamma = (x - 0.5) * log_x - x + _HALF_LOG_TAU
    log_gamma += y * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0))))
    if product != 1.0:
        log_gamma -= log(product)
    digamma = log_x - 0.5 * y - inverses
    digamma -= z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z / 132.0))))
    trigamma = y + 0.5 * z + inverse_squares
    trigamma += y * z * (1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z * (1.0 / 30.0 - z * 5.0 / 66.0))))
    return log_gamma, digamma, trigamma


@inlined
def read_gamma(kind: int, first: float, second: float) -> Numbers:
    """Return shape, scale and logarithm of the scale of a gamma with these unconstrained parameters."""
    if kind == SOFTPLUS:
        scale = max(softplus(second), LEAST_SCALE)
        return max(softplus(first), LEAST_SHAPE), scale, log(scale)
    log_scale = second - first
    return exp(first), exp(log_scale), log_scale


@inlined
def write_gamma(kind: int, shape: float, mean: float) -> Numbers:
    """Return the unconstrained parameters of a gamma of this shape and mean."""
    shape = min(max(shape, LEAST_SHAPE), MOST_SHAPE)
    if kind == SOFTPLUS:
        return inverse_softplus(shape), inverse_softplus(max(mean / shape, LEAST_SCALE))
    return log(shape), log(max(mean, 1e-30))


@inlined
def bound_parameters(kind: int, family: int, first: float, second: float) -> Numbers:
    """Clip unconstrained parameters to their bounds after a step."""
    if family == GAMMA:
        if kind == SOFTPLUS:
            return max(first, -5.2958), max(second, -11.51292)  # softplus of these: LEAST_SHAPE, LEAST_SCALE
        return min(max(first, -5.29832), 16.0), min(max(second, -69.0), MOST_LOG)
    if family == NORMAL:
        return min(max(first, -1e4), 1e4), min(max(second, -12.0), 12.0)
    return (min(max(first, -14.0), 1e6) if family == POISSON else min(max(first, -14.0), 14.0)), second


@inlined
def chain_gamma(
    kind: int, first: float, second: float, shape: float, scale: float, along_shape: float, along_scale: float
) -> Numbers:
    """Apply the chain rule: derivatives by the unconstrained parameters from those by shape and scale."""
    if kind == SOFTPLUS:
        return along_shape * sigmoid(first), along_scale * sigmoid(second)
    return shape * along_shape - scale * along_scale, scale * along_scale


@inlined
def draw_log_gamma(rng: Stream, shape: float) -> tuple[float, Stream]:
    """Draw the logarithm of a Gam(shape, 1) (Marsaglia and Tsang); below 1 by a draw of shape + 1, then scaled down."""
    boosted = shape < 1.0
    boosted_shape = shape + 1.0 if boosted else shape
    value = 0.0
    while True:
        x, rng = draw_normal(rng)
        u, rng = draw_positive(rng)
        value, accepted = judge_large_gamma(boosted_shape, x, u)
        if accepted:
            break
    log_x = log(value)
    if boosted:
        e, rng = draw_exponential(rng)
        log_x -= e / shape
    return max(log_x, LEAST_LOG), rng


@inlined
def evaluate_polynomial(x: float, coefficients: Numbers) -> float:
    """Return the polynomial at ``x`` with these coefficients, the highest power first, by Horner's rule."""
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@compiled
def differentiate_gamma(shape: float, log_x: float, digamma: float) -> float:
    """Return ``d ln x / d shape`` of a draw ``x`` of Gam(shape, 1) at a fixed quantile: ``-(dF / d shape) / (x f)``.

    Computed by the power series of the incomplete gamma function and of its derivative; far in the upper tail by an
    asymptotic series; and above a shape of 8 by polynomials fitted to 1e-8.

    Parameters
    ----------
    shape : float
    log_x : float
        ln x.
    digamma : float
        Of the shape.
    """
    if shape > _LARGE_SHAPE:
        inverse, ratio = 1.0 / shape, log_x - log(shape)
        if _LOWEST < ratio < _HIGHEST:
            upper = evaluate_polynomial(ratio, _SLOPE_2) + inverse * evaluate_polynomial(ratio, _SLOPE_3)
            lower = evaluate_polynomial(ratio, _SLOPE_0) + inverse * evaluate_polynomial(ratio, _SLOPE_1)
            return inverse * (lower + inverse * inverse * upper)
    x = exp(log_x)
    if x > 20.0 + 2.0 * shape:
        one, two, three = shape - 1.0, (shape - 1.0) * (shape - 2.0), (shape - 1.0) * (shape - 2.0) * (shape - 3.0)
        tail = 1.0 + (one + (two + three / x) / x) / x
        slope = (1.0 + (2.0 * shape - 3.0 + (3.0 * shape * shape - 12.0 * shape + 11.0) / x) / x) / x
        return max((log_x - digamma) * tail + slope, 0.0) / x
    term, total, slope, harmonic, denominator = 1.0, 1.0, 0.0, 0.0, shape
    for _ in range(500):
        denominator += 1.0
        inverse = 1.0 / denominator
        term *= x * inverse
        harmonic += inverse
        total += term
        slope += term * harmonic
        if term * harmonic < 1e-12 * total:
            break
    return (total * (digamma + 1.0 / shape - log_x) + slope) / shape


@inlined
def draw_poisson(rng: Stream, rate: float) -> tuple[float, Stream]:
    """Draw a Poisson number as a float by products of uniforms; a large rate is split, and the draws are added."""
    total = 0.0
    while rate > 0.0:
        piece = min(rate, 30.0)
        rate -= piece
        limit = exp(-piece)
        product, rng = draw_positive(rng)
        while product > limit:
            total += 1.0
            u, rng = draw_positive(rng)
            product *= u
    return total, rng


@inlined
def draw_bernoulli(rng: Stream, chance: float) -> tuple[float, Stream]:
    """Draw 1 with probability ``chance``, else 0."""
    u, rng = draw_uniform(rng)
    return (1.0 if u < chance else 0.0), rng


@inlined
def compute_log_density(log_z: float, z: float, shape: float, scale: float) -> float:
    """Return ``ln Gam(z; shape, scale)``."""
    return (shape - 1.0) * log_z - z / scale - shape * log(scale) - lgamma(shape)


@inlined
def bound_gamma(prior: float, shape: float, log_scale: float, log_gamma: float, digamma: float) -> float:
    """Return ``E[(a - 1) ln z] - E[ln q(z)]`` of a gamma, for a prior of shape a."""
    return shape + log_gamma + (prior - shape) * digamma + prior * log_scale


@inlined
def differentiate_bound(
    shape: float, scale: float, trigamma: float, slope: float, prior: float, rate: float, log_gradient: float
) -> Numbers:
    """Return the derivatives of the bound by shape and scale of a gamma variable z, given one draw of all variables.

    Terms linear in z and in ln z under q are integrated exactly; only ``log_gradient`` depends on the draw.

    Parameters
    ----------
    shape, scale, trigamma : float
        Of q.
    slope : float
        ``d ln z / d shape`` of the draw (:func:`differentiate_gamma`).
    prior : float
        Shape of the prior.
    rate : float
        The sum of all factors of -z in the log-joint: the rate of the prior and others.
    log_gradient : float
        Derivative of the rest of the log-joint by ln z, at the draw.
    """
    along_shape = log_gradient * slope + (prior - shape) * trigamma + 1.0 - rate * scale
    along_scale = (log_gradient + prior) / scale - rate * shape
    return along_shape, along_scale


@inlined
def estimate_control_coefficient(products: float, squares: float, values: float) -> float:
    """Return the control variate's coefficient, E[g s] / E[s^2] if the squared correlation is at least 1/2, else 0.

    Parameters
    ----------
    products, squares, values : float
        Sums of ``g s``, ``s^2`` and ``g^2`` over samples kept apart for this, where s is the score and g = s f.
    """
    if squares <= 0.0 or values <= 0.0 or products * products < 0.5 * values * squares:
        return 0.0
    return products / squares


@inlined
def read_scale(kind: int, second: float) -> float:
    """Return the standard deviation of a normal from its unconstrained parameter."""
    return max(softplus(second), 1e-5) if kind == SOFTPLUS else exp(second)


class StepSize(NamedTuple):
    """The step size of RMSProp: the learning ``rate``, and the ``window`` of its running mean of squared gradients."""

    rate: float
    window: float


@inlined
def scale_step(step_size: StepSize, gradient: float, root: float) -> tuple[float, float]:
    """Return the uphill step of a parameter and the root of its running mean of squared gradients (0 = none yet)."""
    size = abs(gradient)
    if not size < 1e30:  # nan or too large: this sample is ignored
        return 0.0, root
    squared = (1.0 - 1.0 / step_size.window) * root * root + gradient * gradient / step_size.window
    root = sqrt(squared) if root > 0.0 else size
    return (step_size.rate * gradient / root if root > 0.0 else 0.0), root
