"""The paper's own refinement, against its algorithms written down as they are printed, one box after the other."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from certification.refinement_cases import unfair_table
from fairness_engine.certification.assessor import Assessed
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.fairquant.kernels import choose_columns
from fairness_engine.certification.fairquant.rule import N_SAMPLES, FairQuantRule
from fairness_engine.certification.networks.assessor import NetworkAssessor
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.enumeration_kernels import drawn_inside
from fairness_engine.certification.partition.lattice import Lattice, make_lattice
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.relu_network import ReluNetwork, flatten, read_network
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import ResultReady
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from handmade import network_model, small_domain

SEED = 7


def random_network(domain: Domain, *widths: int, seed: int = 0, slope: float = 0.0) -> Model:
    """ReLU layers over the columns, scaled to be about as often above the threshold as below."""
    rng = np.random.default_rng(seed)
    sizes = (domain.n_columns, *widths, 1)
    hidden = Activation.LEAKY_RELU if slope else Activation.RELU
    layers = [
        Layer(rng.normal(size=(a, b)) / np.sqrt(a), rng.normal(size=b), hidden, slope)
        for a, b in itertools.pairwise(sizes[:-1])
    ]
    layers.append(Layer(rng.normal(size=(sizes[-2], 1)), np.zeros(1), Activation.SIGMOID))
    span = domain.high - domain.low
    network = DenseNetwork(layers).with_affine_inputs(4 / span, -4 * domain.low / span - 2)
    middle = np.median(network.logits(domain.sample(1000, rng)))
    last = network.layers[-1]
    return network_model(
        domain, DenseNetwork((*network.layers[:-1], Layer(last.weights, last.biases - middle, last.activation)))
    )


# --- the paper's algorithms, one box at a time ----------------------------------------------------


def column_ends(network: ReluNetwork, form: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Least and largest that each column adds to each sum ``(2, D, n)``."""
    ends = np.empty((2, len(low), form.shape[1]))
    for i in range(len(low)):
        part = form[network.starts[i] : network.starts[i + 1]]
        reached = part * np.array([[low[i]], [high[i]]]) if len(part) == 1 else part[low[i] : high[i] + 1]
        ends[:, i] = reached.min(axis=0), reached.max(axis=0)
    return ends


def masks_of(network: ReluNetwork, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """Gradient masks ``(2, K, n)`` of every hidden layer: the symbolic part is shared, the rest an interval of each
    variant.
    """
    form = network.first
    least = network.shifts
    most = network.shifts
    masks = []
    for weights, biases, slope in zip(network.weights, network.biases, network.slopes, strict=True):
        begin, end = column_ends(network, form, low, high).sum(axis=1)
        lower = begin + least
        upper = end + most
        masks.append(np.stack([np.where(lower >= 0, 1.0, slope), np.where(upper <= 0, slope, 1.0)]))
        bottom = lower.min(axis=0)
        top = upper.max(axis=0)
        crossing = (bottom < 0) & (top > 0)
        chord = (top - slope * bottom) / np.where(crossing, top - bottom, 1.0)
        rising = np.where(crossing, chord, np.where(bottom >= 0, 1.0, slope))
        rest = [np.where(z >= 0, z, slope * z) - rising * z for z in (lower, upper)]
        lowest = np.minimum(*rest)
        lowest = np.where((lower < 0) & (upper > 0), np.minimum(lowest, 0.0), lowest)
        one = rising * least + lowest
        other = rising * most + np.maximum(*rest)
        positive = np.maximum(weights, 0)
        negative = np.minimum(weights, 0)
        form = (form * rising) @ weights
        least = one @ positive + other @ negative + biases
        most = other @ positive + one @ negative + biases
    return masks


def smears(network: ReluNetwork, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Algorithm 3, lines 8-11: gradient bounds averaged over the variants, times the widths."""
    masks = masks_of(network, low, high)
    bounds = []
    for k in range(network.n_variants):
        below = above = np.ones(1)
        for weights, mask in zip(network.weights[::-1], masks[::-1], strict=True):
            positive = np.maximum(weights, 0)
            negative = np.minimum(weights, 0)
            below, above = positive @ below + negative @ above, positive @ above + negative @ below
            least = mask[0, k]
            most = mask[1, k]
            below = np.minimum(below * least, below * most)
            above = np.maximum(above * least, above * most)
        bounds.append((below, above))
    below, above = np.mean(bounds, axis=0)
    found = np.empty(len(low))
    for i in range(len(low)):
        part = network.first[network.starts[i] : network.starts[i + 1]]
        if len(part) == 1:
            ends = np.stack([part[0] * below, part[0] * above])
            found[i] = max(abs(ends.min(axis=0).sum()), abs(ends.max(axis=0).sum())) * (high[i] - low[i])
        else:
            widths = np.ptp(part[low[i] : high[i] + 1], axis=0)
            found[i] = (np.maximum(np.abs(below), np.abs(above)) * widths).sum()
    return found


class Printed:
    """Algorithms 1-4 with a stack."""

    def __init__(self, model: Model, space: Lattice, settings: CertifySettings) -> None:
        self.points = BoxEnumerator(model, space.domain, space)
        self.assessor = NetworkAssessor(read_network(model, space), space, Mode.CLASSIC)
        self.settings = settings
        self.space = space
        self.certified = self.falsified = 0.0
        self.n_boxes = self.n_left = 0

    def run(self) -> None:
        low, high = self.space.whole()
        stack = [(low[0], high[0], 0)]
        while stack:
            low, high, depth = stack.pop()
            weight = float(self.space.weigh(low[None], high[None])[0])
            self.n_boxes += 1
            verdict = self.symbolic_forward(low, high)
            if verdict == "undecided":
                stack += self.backward_refinement(low, high, depth)
            self.certified += weight * (verdict == "fair")
            self.falsified += weight * (verdict == "unfair")

    def symbolic_forward(self, low: np.ndarray, high: np.ndarray) -> str:
        if (low == high).all():
            return "unfair" if self.points.are_unfair(self.space.rows(low[None]))[0] else "fair"
        bounds = self.assessor.explain(low[None], high[None]).bounds[0]
        if (bounds[:, 0] > 0).all() or (bounds[:, 1] < 0).all():
            return "fair"
        return "unfair" if (bounds[:, 0] > 0).any() and (bounds[:, 1] < 0).any() else "undecided"

    def backward_refinement(
        self, low: np.ndarray, high: np.ndarray, depth: int
    ) -> list[tuple[np.ndarray, np.ndarray, int]]:
        if depth >= self.settings.max_depth:
            return []
        if depth >= self.settings.check_depth and self.sampled_counterexample(low, high):
            self.n_left += 1
            return []
        column = int(np.where(high > low, smears(self.assessor.network, low, high), -1).argmax())
        cut = (low[column] + high[column]) // 2
        left = high.copy()
        right = low.copy()
        left[column] = cut
        right[column] = cut + 1
        return [(low, left, depth + 1), (right, high, depth + 1)]

    def sampled_counterexample(self, low: np.ndarray, high: np.ndarray) -> bool:
        digits = np.empty((N_SAMPLES, len(low)), np.int64)
        drawn_inside(low[None], high[None], N_SAMPLES, SEED, digits)
        return bool(self.points.are_unfair(self.space.rows(digits)).any())


@pytest.mark.parametrize("widths", [(8,), (6, 5), (5, 4, 3)])
@pytest.mark.parametrize("slope", [0.0, 0.2])
@pytest.mark.parametrize(("check_depth", "max_depth"), [(4, 7), (0, 6), (20, 9), (15, 1)])
def test_batches_come_to_what_the_printed_algorithms_come_to(
    widths: tuple[int, ...], slope: float, check_depth: int, max_depth: int
) -> None:
    domain = small_domain(("sex", "job"))
    model = random_network(domain, *widths, seed=len(widths), slope=slope)
    space = make_lattice(domain)
    settings = CertifySettings(mode=Mode.CLASSIC, check_depth=check_depth, max_depth=max_depth)
    printed = Printed(model, space, settings)
    printed.run()
    points = BoxEnumerator(model, domain, space)
    assessor = NetworkAssessor(read_network(model, space), space, Mode.CLASSIC)
    rule = FairQuantRule(settings, points, assessor.network, SEED)
    refinement = Refinement(assessor, points, rule, ThreadPool(2))
    while refinement.step():
        pass
    standing = refinement.recount()
    assert standing.n_boxes == printed.n_boxes
    assert (standing.certified, standing.falsified) == (printed.certified, printed.falsified)
    assert len(rule.counterexamples) == printed.n_left
    assert standing.n_open == 0
    assert refinement.parents()[1] <= max_depth


@pytest.mark.parametrize("widths", [(9,), (7, 6, 5)])
def test_the_column_chosen_has_the_largest_smear(widths: tuple[int, ...]) -> None:
    domain = small_domain()
    space = make_lattice(domain)
    network = read_network(random_network(domain, *widths, seed=4), space)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, space.n_digits, size=(2, 300, len(space.n_digits)))
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    low[0] = high[0]
    columns = np.empty(len(low), np.int64)
    choose_columns(low, high, flatten(network), columns, np.empty(low.shape))
    expected = [
        int(np.where(b > a, smears(network, a, b), -1).argmax()) if (a < b).any() else -1
        for a, b in zip(low, high, strict=True)
    ]
    assert columns.tolist() == expected
    assert len(set(expected)) > 2


def test_counterexamples_lie_in_their_boxes_and_are_true() -> None:
    domain = small_domain()
    model = random_network(domain, 8, seed=1)
    space = make_lattice(domain)
    truth = unfair_table(model, space)
    points = BoxEnumerator(model, domain, space)
    rule = FairQuantRule(CertifySettings(mode=Mode.CLASSIC, check_depth=0), points, None, SEED)
    low = np.repeat(space.whole()[0], 5, axis=0)
    high = np.repeat(space.whole()[1], 5, axis=0)
    low[:, 1] = np.arange(5)
    found = Assessed(np.zeros(5), np.zeros(5), np.array([0, 1, 2, -1, 3]))
    columns = rule.choose(low, high, np.full(5, 3, np.int32), found)
    digits = rule.counterexamples
    assert truth[tuple(digits.T)].all()
    assert len(digits) == (columns[[0, 1, 2, 4]] == -1).sum()
    assert columns[3] == -1
    assert rule.choose(low, high, np.full(5, 20, np.int32), found).tolist() == [-1] * 5
    assert found.column.tolist() == [0, 1, 2, -1, 3]


def certified_percent(model: Model, domain: Domain, rows: np.ndarray) -> float:
    settings = CertifySettings(mode=Mode.CLASSIC, n_samples=0)
    events = run_certification(model, domain, rows, settings, SEED, Clock(300))
    (result,) = [event.content for event in events if isinstance(event, ResultReady)]
    assert result["n_open"] == 0
    return 100 * float(result["certified"])


BANK_LOW = (0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 1, 0, 0, 0, 0)
BANK_HIGH = (10, 2, 6, 1, 1, 1, 1, 11, 6, 1, 5000, 50, 999, 7, 2, 1)


@pytest.mark.thorough
@pytest.mark.shared
def test_the_bank_network_certifies_what_the_authors_print_on_the_domain_their_file_states(shared: Path) -> None:
    """Table II: BM-3 95.69 %. The header of the authors' bank files holds the ranges one column before the weights."""
    columns = tuple(
        Column(f"input_{i}", Kind.INTEGER, minimum=low, maximum=high)
        for i, (low, high) in enumerate(zip(BANK_LOW, BANK_HIGH, strict=True))
    )
    schema = Schema(columns=columns, label="y", favourable=1, protected=("input_15",))
    model = open_model(shared / "models" / "fairify" / "BM-3.h5", schema, favourable=1)
    assert certified_percent(model, Domain(schema, Scope(("input_15",))), np.empty((0, 16))) >= 95.19
