"""Deep latent Dirichlet allocation: the Poisson gamma belief network, by SG-MCMC, batch Gibbs, or both in turn.

Cong, Chen, Liu and Zhou, "Deep latent Dirichlet allocation with topic-layer-adaptive stochastic
gradient Riemannian MCMC" (ICML 2017); equation numbers are that paper's.  The generative model:

    theta^(L) ~ Gam(r, 1/c^(L+1)),  theta^(l) ~ Gam(Phi^(l+1) theta^(l+1), 1/c^(l+1)),  x ~ Pois(Phi^(1) theta^(1)),
    phi_k^(l) ~ Dir(eta^(l)),  r_k ~ Gam(gamma_0/K_L, 1/c_0),  c^(l) ~ Gam(e_0, 1/f_0),  p^(2) ~ Beta(a_0, b_0).
"""

from dataclasses import dataclass

from topiary.engine import shared_settings
from topiary.engine.contract import Facts
from topiary.engine.settings import ALWAYS, PRIORS, SWEEPS, SettingError, check, setting
from topiary.engine.shared_settings import (
    below_setting,
    concentrations_setting,
    every_setting,
    explain_device_width,
    grow_setting,
    layers_setting,
    simplex_setting,
)

TITLE = "DLDA: deep latent Dirichlet allocation"
CHILD = "A parent is a mixture of the topics below it: the weight of a line is the child's part of its parent."
PRESETS = {
    "paper": {  # Table 1
        "inference": "tlasgr", "start": "flat", "simplex": "clamp", "burn_in": "20", "collect": "10", "settle": "10",
        "batch_size": "200", "step": "1", "tau": "20", "kappa": "0.7", "scale_step": "0.5", "eta": "0.05",
        "gamma0": "1", "learn_concentrations": "no", "minibatches": "3500",
    }
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of DLDA; the preset "paper" holds those of Table 1 of the paper."""

    layers: tuple[int, ...] = layers_setting()
    inference: str = setting(
        "auto",
        ALWAYS,
        "Inference",
        "auto: TLASGR on mini-batches, then Gibbs sweeps of every document where the corpus allows; tlasgr, tlfsgr and "
        "sgrld stay with mini-batches; gibbs begins with sweeps.",
        choices=("auto", "tlasgr", "tlfsgr", "sgrld", "gibbs"),
    )
    start: str = setting(
        "clusters",
        ALWAYS,
        "Start of the topics",
        "clusters: from groups of similar documents (k-means), which gives far better topics; flat: nearly equal ones, "
        "as the paper.",
        choices=("clusters", "flat"),
    )
    link: str = setting(
        "poisson",
        ALWAYS,
        "Data",
        "poisson: counts; bernoulli: present or absent; gamma: non-negative real values such as pixels.",
        choices=("poisson", "bernoulli", "gamma"),
    )
    batch_size: int = setting(
        200, SWEEPS, "Mini-batch size", "Documents per mini-batch (not used by Gibbs).", low=1, high=10**7
    )
    first_minibatches: int = setting(
        0,
        SWEEPS,
        "Mini-batches before the sweeps",
        "When inference is auto: number of mini-batches before every document is swept.",
        low=0,
        high=10**7,
    )
    eta: tuple[float, ...] = setting(
        (0.03, 0.15),
        PRIORS,
        "Topic smoothing eta",
        "Dirichlet parameter of the topics, for layer 1 and those above, separated by commas; the last number is that "
        "of all further layers. Larger above layer 1: fewer upper topics, which come back with another seed.",
        low=1e-6,
        high=100,
    )
    sampler: str = setting(
        "collapsed",
        SWEEPS,
        "Local sampler",
        "collapsed: activations of layer 1 integrated out (fast, Poisson only); plain: every variable drawn.",
        choices=("collapsed", "plain"),
    )
    statistics: str = setting(
        "sampled",
        SWEEPS,
        "Statistics",
        "sampled counts, or expected (Rao-Blackwellised) counts as the authors used on RCV1 and Wiki.",
        choices=("sampled", "expected"),
    )
    burn_in: int = setting(
        5, SWEEPS, "Burn-in sweeps per layer", "Local sweeps per layer before counts are kept.", low=0, high=10**4
    )
    collect: int = setting(
        3, SWEEPS, "Collected sweeps per layer", "Local sweeps per layer whose counts are kept.", low=1, high=10**4
    )
    settle: int = setting(
        10,
        SWEEPS,
        "First draw of rates",
        "Sweep from which the rates p and c are drawn; before it they stay at 1.",
        low=1,
        high=10**4,
    )
    step: float = shared_settings.first_setting()
    tau: float = shared_settings.delay_setting()
    kappa: float = shared_settings.decay_setting()
    scale_step: float = shared_settings.scale_setting()
    simplex: str = simplex_setting("exact")
    grow: bool = grow_setting()
    grow_every: int = every_setting()
    prune_below: float = below_setting()
    a0: float = setting(0.01, PRIORS, "a_0", "Beta prior of p^(2).", low=1e-9)
    b0: float = setting(0.01, PRIORS, "b_0", "Beta prior of p^(2).", low=1e-9)
    e0: float = setting(1.0, PRIORS, "e_0", "Gamma prior shape of the rates c.", low=1e-9)
    f0: float = setting(1.0, PRIORS, "f_0", "Gamma prior rate of the rates c.", low=1e-9)
    gamma0: float = setting(1.0, PRIORS, "gamma_0", "Total shape of the prior of r.", low=1e-9)
    c0: float = setting(1.0, PRIORS, "c_0", "Rate of the prior of r.", low=1e-9)
    sample_gamma0: bool = setting(
        False,
        PRIORS,
        "Sample gamma_0 and c_0",
        "Draw gamma_0 and c_0 too, as Zhou, Cong and Chen (2016) do; Gibbs only.",
    )
    learn_concentrations: bool = concentrations_setting(
        "eta of every layer, gamma_0 and c_0", "each eta has an exponential prior whose mean is the given number."
    )

    def __post_init__(self) -> None:
        check(self)
        if len(self.eta) > max(2, len(self.layers)):
            raise SettingError(f"eta needs at most {len(self.layers)} values, one per layer; got {len(self.eta)}")
        if self.sample_gamma0 and self.inference != "gibbs":
            raise SettingError("sample_gamma0 needs inference gibbs; got " + self.inference)
        if self.learn_concentrations and self.inference != "gibbs" and not self.may_sweep:
            raise SettingError(
                "learn_concentrations needs sweeps of all documents: inference gibbs, or auto with link poisson, the "
                "collapsed sampler with sampled statistics, and widths that are given"
            )
        if self.statistics == "expected" and self.link != "poisson":
            raise SettingError("statistics expected needs link poisson; got " + self.link)
        if self.statistics == "expected" and self.inference == "gibbs":
            raise SettingError("statistics expected needs mini-batches: tlasgr, tlfsgr or sgrld; got gibbs")
        if self.first_minibatches and not self.may_sweep:
            raise SettingError(
                "first_minibatches needs inference auto, link poisson, the collapsed sampler with sampled statistics, "
                "and widths that are given; leave it out"
            )

    @property
    def collapsed(self) -> bool:
        """True if the fast sampler applies: Poisson counts and sampled statistics."""
        return self.sampler == "collapsed" and self.link == "poisson" and self.statistics == "sampled"

    @property
    def may_sweep(self) -> bool:
        """True if mini-batches may be followed by sweeps: the fast sampler makes these cheap, and widths are fixed."""
        return self.inference == "auto" and self.collapsed and not self.grow

    @property
    def until_plateau(self) -> bool:
        """True if a run without a set length ends when its curve no longer falls."""
        return self.inference == "auto"

    @property
    def until_settled(self) -> bool:
        """True if a run without a set length continues until its tree no longer changes either."""
        return self.until_plateau and len(self.layers) > 1 and not self.grow

    def sweeps_after(self, facts: Facts) -> int | None:
        """Return the number of steps before sweeps of all documents begin; None if there are none."""
        if self.inference == "gibbs":
            return 0
        if self.first_minibatches:
            return self.first_minibatches
        return shared_settings.find_sweeps_start(facts) if self.may_sweep else None

    def list_etas(self, n_layers: int) -> tuple[float, ...]:
        """Return the Dirichlet parameters of ``n_layers`` layers; if widths are learnt, a run starts with one layer."""
        return (self.eta + self.eta[-1:] * n_layers)[:n_layers]

    @property
    def moves_on_device(self) -> bool:
        """True if a device that sweeps documents moves the topics too, False if the processor does it."""
        return self.inference != "sgrld" and not self.grow and not self.learn_concentrations

    def explain_device_refusal(self) -> str:
        """Return why a graphics processor cannot sweep documents; an empty text if it can."""
        if self.link != "poisson":
            return f"a graphics processor sweeps counts; set link to poisson, or leave out --on gpu; got {self.link}"
        if not self.collapsed:
            return "a graphics processor has the collapsed sampler with sampled statistics only; set these"
        return explain_device_width(self.layers)
