"""Pictures: what they show can be read off their artists; the style is one, and the files are the same every day."""

import re

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D

from heatgp import (
    ComplexProjective,
    Domain,
    Euclidean,
    Product,
    Scaled,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
)
from heatgp.errors import InvalidInput
from heatgp.experiments import compare, dti, gorillas, knots, projective
from heatgp.heat.methods import METHODS
from heatgp.plots import (
    COLOURS,
    along_geodesic,
    circle_figure,
    convergence_figure,
    distance_label,
    interval_figure,
    kernel_figure,
    kernel_panels,
    knot_figure,
    probabilities_figure,
    reliability_figure,
    residuals_figure,
    save_figure,
    scatter_figure,
    score_figure,
    sphere_figure,
    tract_figure,
)
from heatgp.plots.style import METHOD_STYLES

ANGLES = np.linspace(-np.pi, np.pi, 50, endpoint=False)
WAVE = np.cos(2 * ANGLES)


def test_along_geodesic_is_at_the_stated_distances():
    for manifold in (Sphere(2), ComplexProjective(4), Euclidean(3), Torus(2)):
        lengths, points = along_geodesic(manifold, 1.0, 9)
        np.testing.assert_allclose(manifold.distance(points[0], points), lengths, atol=1e-6)
        ends = {Sphere(2): np.pi, ComplexProjective(4): np.pi / 2, Euclidean(3): 5.0}
        assert lengths[-1] == pytest.approx(ends.get(manifold, lengths[-1]))


def test_kernel_figure_has_a_band_of_two_standard_errors():
    lengths = np.linspace(0, 1, 5)
    table = [("strip", np.exp(-lengths), 0.1 * np.ones(5)), ("exact", np.exp(-lengths), np.zeros(5))]
    (axes,) = kernel_figure(lengths, table, "S^2", distance_label(Sphere(2))).axes
    assert [line.get_label() for line in axes.get_lines()] == ["strip", "exact"]
    band = next(c for c in axes.collections if isinstance(c, PolyCollection)).get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(1.2)
    assert axes.get_xlabel() == "distance (radians)"
    assert kernel_figure(lengths, table, "R^2").axes[0].get_xlabel() == "distance"


def test_kernel_panels_give_each_method_one_colour():
    lengths, curve = np.linspace(0, 1, 5), np.ones(5)
    few = [("ball", curve, 0 * curve), ("exact", curve, 0 * curve)]
    full = [("ball", curve, 0 * curve), ("smooth", curve, 0 * curve), ("exact", curve, 0 * curve)]
    figure = kernel_panels([("R^1", "distance", lengths, few), ("S^2", "distance (radians)", lengths, full)], columns=2)
    colours = [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in figure.axes]
    assert colours[0] == {k: v for k, v in colours[1].items() if k != "smooth"}
    assert len(set(colours[1].values())) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ball", "smooth", "exact"]


def test_knots_share_one_scale_and_near_strands_cover_far_ones():
    knots = [TorusKnot(2, 3), TorusKnot(4, 3)]
    figure = knot_figure(knots, ANGLES, [("truth", [WAVE, WAVE]), ("other", [2 * WAVE, 0 * WAVE])])
    panels = figure.axes[:4]
    assert [axes.get_title() for axes in panels] == ["(2, 3) truth", "(2, 3) other", "(4, 3) truth", "(4, 3) other"]
    strands = [next(c for c in axes.collections if isinstance(c, LineCollection)) for axes in panels]
    np.testing.assert_array_equal(strands[0].get_colors()[::2], 1.0)  # white edges
    middle = matplotlib.colormaps["viridis"](0.5)
    np.testing.assert_allclose(strands[3].get_colors()[1::2], np.broadcast_to(middle, (720, 4)), atol=0.01)
    assert figure.axes[-1].get_ylabel() == "f"
    with pytest.raises(InvalidInput, match=r"needed are 2 array\(s\) of shape \(50,\), one for each knot"):
        knot_figure(knots, ANGLES, [("truth", [WAVE[:9], WAVE[:9]])])


@pytest.mark.parametrize("knot", knots.KNOTS, ids=str)
def test_no_strand_of_a_knot_is_along_the_line_of_sight(knot):
    """A smooth curve seen so has a cusp. Pieces of the strands reach over three steps, and turn little."""
    axes = knot_figure([TorusKnot(*knot)], ANGLES, [("truth", [WAVE])]).axes[0]
    pieces = np.array(next(c for c in axes.collections if isinstance(c, LineCollection)).get_segments()[1::2])
    first, *_, last = np.moveaxis(np.diff(pieces, axis=1), 1, 0)
    cosine = (first * last).sum(axis=-1) / np.linalg.norm(first, axis=-1) / np.linalg.norm(last, axis=-1)
    assert np.degrees(np.arccos(cosine.clip(-1, 1))).max() < 10


def test_sphere_is_asked_for_points_on_it():
    asked = []

    def height(x):
        asked.append(x)
        return x[:, 2]

    figure = sphere_figure(height, points=Sphere(2).random(np.random.default_rng(0), 5), label="height (m)", number=8)
    np.testing.assert_allclose(np.linalg.norm(asked[0], axis=1), 1)
    assert figure.axes[0].name == "mollweide"
    assert figure.axes[1].get_ylabel() == "height (m)"


def test_circle_closes():
    figure = circle_figure(ANGLES, WAVE, 0.1 + 0 * WAVE, truth=WAVE, data=(ANGLES[:3], WAVE[:3]), label="f (m)")
    mean = figure.axes[0].get_lines()[0]
    assert mean.get_ydata()[0] == mean.get_ydata()[-1]
    assert np.ptp(mean.get_xdata()) == pytest.approx(2 * np.pi)
    assert figure.axes[0].get_xlabel() == "angle (degrees); radius: f (m)"


def test_interval_is_sorted_and_two_standard_deviations_wide():
    order = np.random.default_rng(0).permutation(50)
    figure = interval_figure(ANGLES[order], WAVE[order], 0.25 + 0 * WAVE, truth=WAVE[order], data=(ANGLES, WAVE))
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), WAVE)
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((WAVE.min() - 0.5, WAVE.max() + 0.5))
    assert [text.get_text() for text in axes.get_legend().get_texts()][1:] == ["mean", "truth", "data"]


def test_reliability_of_a_true_forecast_is_the_diagonal():
    rng = np.random.default_rng(0)
    probability = rng.random(4000)
    happened = rng.random(4000) < probability
    figure = reliability_figure({"true": (probability, happened), "few": ([0.5] * 3, [1, 0, 1])}, bins=4)
    lines = figure.axes[0].get_lines()
    curve = max(lines, key=lambda line: len(line.get_xdata()))
    se = np.sqrt(0.25 / 900)
    np.testing.assert_allclose(curve.get_ydata(), curve.get_xdata(), atol=5 * se)
    assert len(curve.get_xdata()) == 4
    with pytest.raises(InvalidInput, match="at least 2 bins"):
        reliability_figure({}, bins=1)


def test_tract_marks_planted_sites_and_chance():
    scores = {"heatgp": np.arange(10.0), "rbf": np.ones(10)}
    axes = tract_figure(scores, marked=[3, 7], chance=0.69, title="tract").axes[0]
    assert len(axes.patches) == 2
    assert axes.get_lines()[0].get_ydata()[0] == 0.69
    np.testing.assert_array_equal(axes.get_lines()[1].get_xdata(), np.arange(1, 11))
    assert axes.get_xlabel() == "site (number along the tract)"


def test_lines_join_neighbouring_sites_only():
    """A quick run has ten of 75 sites."""
    axes = tract_figure({"heatgp": np.arange(4.0)}, sites=[1, 2, 16, 31]).axes[0]
    x, y = axes.get_lines()[0].get_data()
    np.testing.assert_array_equal(x, [1, 2, np.nan, 16, np.nan, 31])
    np.testing.assert_array_equal(y, [0, 1, np.nan, 2, np.nan, 3])


@pytest.mark.parametrize(
    ("scores", "sites", "message"),
    [
        ({}, None, "scores must be a dict from names to scores of all sites, one or more; got {}"),
        (None, None, "scores must be a dict from names to scores of all sites, one or more; got None"),
        ({"a": []}, None, r"sites: the shape is \(0,\); needed is \(N,\), N >= 1"),
        ({"a": np.ones(3)}, ["x", "y", "z"], "sites must be numbers"),
        ({"a": np.ones(3), "b": np.ones(4)}, None, r"the scores of 'b' have shape \(4,\); there are 3 sites"),
        ({"a": np.ones(3)}, [1, 2], r"the scores of 'a' have shape \(3,\); there are 2 sites"),
        ({"a": ["low"]}, None, "the scores of 'a' must be numbers"),
    ],
)
def test_scores_that_are_not_of_the_sites(scores, sites, message):
    with pytest.raises(InvalidInput, match=message):
        tract_figure(scores, sites=sites)


def test_scores_have_a_mark_a_method_and_setting():
    figure = score_figure(
        ["30 dB", "10 dB"], {"a": ([1, 2], [0.1, 5]), "b": ([3, np.nan], [0, 0])}, ylabel="e", log=True
    )
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["30 dB", "10 dB"]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] > 0
    panels = scatter_figure({"a": (np.arange(3.0), np.arange(3.0), np.ones(3))}, title="30 dB").axes
    assert [axes.get_title() for axes in panels] == ["a, 30 dB"]


def test_convergence_is_the_best_value_so_far():
    values = [np.nan, 3.0, 5.0, np.nan, 1.0, 2.0]
    (axes,) = convergence_figure(values, label="energy (J)", title="one").axes
    single, best, failed = axes.get_lines()
    np.testing.assert_array_equal(single.get_ydata(), values)
    np.testing.assert_array_equal(best.get_ydata(), [np.nan, 3, 3, 3, 1, 1])
    np.testing.assert_array_equal(best.get_xdata(), np.arange(1, 7))
    np.testing.assert_array_equal(failed.get_xdata(), [1, 4])
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("evaluations", "energy (J)", "one")
    assert axes.get_legend() is None


def test_convergence_of_several_searches_as_regret(tmp_path):
    figure = convergence_figure({"ours": [3.0, 1.0, 0.5], "random": [np.nan, 2.0]}, minimum=0.5)
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "value - minimum"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours", "random"]
    ours, random = (line for line in axes.get_lines() if line.get_drawstyle() == "steps-post")
    np.testing.assert_array_equal(ours.get_ydata(), [2.5, 0.5, 0])
    assert ours.get_color() != random.get_color()
    save_figure(figure, tmp_path / "a.png")  # the minimum itself, and nan, are no warnings
    with pytest.raises(InvalidInput, match=r"ours: 0.2 is below minimum = 0.5"):
        convergence_figure({"ours": [0.2]}, minimum=0.5)
    with pytest.raises(InvalidInput, match=r"values: shape \(0,\); needed are the values \(N,\) of a search"):
        convergence_figure([])


def colours_by_label(figure):
    """The colour of each line or group of marks that has a label."""
    found = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
            if isinstance(line, Line2D):
                found[label.partition(" (")[0]] = to_hex(line.get_color())
    return found


def test_a_method_has_one_colour_in_every_picture():
    ones = np.ones(4)
    chance = (np.linspace(0, 1, 40), np.arange(40) % 2)
    counts = [("ball", ones, ones), ("strip", ones, ones), ("exact", ones, ones)]
    figures = [
        kernel_figure(ones, [("smooth", ones, ones), ("exact", ones, ones)], ""),
        kernel_figure(ones, [("mine", ones, ones), ("strip", ones, ones), ("smooth", ones, ones)], ""),
        kernel_panels([("", "", ones, counts)], columns=1),
        score_figure(["a"], {m: ([1.0], [0.1]) for m in ("ball", "rbf", "heatgp", "svm", "mine")}, ylabel=""),
        tract_figure(dict.fromkeys(("rbf", "svm", "linear", "heatgp"), ones)),
        reliability_figure({"svm": chance, "heatgp": chance, "linear": chance}),
    ]
    seen = {}
    for figure in figures:
        colours = colours_by_label(figure)
        own = [label for label in colours if label in METHOD_STYLES or label == "mine"]
        assert len({colours[label] for label in own}) == len(own) >= 2
        for method in set(own) - {"mine"}:
            assert seen.setdefault(method, colours[method]) == colours[method]
    assert len(seen) == 8
    panels = scatter_figure({"rbf": (ones, ones, ones), "heatgp": (ones, ones, ones)}).axes
    assert [to_hex(axes.get_lines()[0].get_color()) for axes in panels] == [seen["rbf"], seen["heatgp"]]


def test_every_method_and_model_has_its_colour():
    assert {*METHODS} - {"auto"} <= set(METHOD_STYLES)
    for methods in (
        compare.METHODS,
        knots.METHODS,
        projective.METHODS,
        gorillas.METHODS,
        {*dti.METHODS} - {"constant"},
    ):
        # variants of one colour have other markers
        assert len({METHOD_STYLES[m] for m in methods}) == len(methods)


@pytest.mark.parametrize(
    "manifold, angular",
    [
        (Sphere(2), True),
        (Torus(2), True),
        (SpecialOrthogonal(3), True),
        (Product(Sphere(2), Torus(1)), True),
        (Product(Sphere(2), Euclidean(3)), False),
        (Scaled(Sphere(2), 6371.0), False),
        (Euclidean(2), False),
        (Domain(Euclidean(2), [(0, 0), (1, 0), (0, 1)]), False),
        (Stiefel(5, 2), False),
    ],
    ids=repr,
)
def test_distances_are_in_radians_where_they_are_angles(manifold, angular):
    assert distance_label(manifold) == ("distance (radians)" if angular else "distance")


def luminance(colour):
    """Relative luminance of sRGB (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def test_colours_can_be_told_apart_without_red_or_green():
    """As dichromats see them (Viénot, Brettel and Mollon 1999): the first four curves differ in every pair."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    deutan = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    rgb = np.array([to_rgb(c) for c in COLOURS]) ** 2.2
    for loss in (np.eye(3), protan, deutan):
        seen = np.clip(rgb @ (np.linalg.inv(to_lms) @ loss @ to_lms).T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(4, 1)]
        assert apart.min() > 0.1
    assert all(luminance(c) < 0.45 for c in COLOURS[:4])  # dark enough on white


def test_files_are_the_same_every_day(tmp_path):
    for suffix in ("png", "svg", "pdf"):
        figure = interval_figure(ANGLES, WAVE, 0.1 + 0 * WAVE)
        save_figure(figure, tmp_path / f"a.{suffix}")
        save_figure(interval_figure(ANGLES, WAVE, 0.1 + 0 * WAVE), tmp_path / f"b.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    with pytest.raises(InvalidInput, match=r"written as .png, .svg or .pdf"):
        save_figure(figure, tmp_path / "a.bmp")


def test_the_users_own_style_is_left_alone():
    before = dict(matplotlib.rcParams)
    interval_figure(ANGLES, WAVE, 0.1 + 0 * WAVE)
    assert dict(matplotlib.rcParams) == before


def test_what_is_no_figure_and_no_function_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="figure = None must be a figure of Matplotlib"):
        save_figure(None, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="function = None must be a function of points"):
        sphere_figure(None)
    with pytest.raises(InvalidInput, match=r"maps points of shape \(15, 3\) to shape \(2,\); needed is one value"):
        sphere_figure(lambda x: x[:2, 0], number=2)
    with pytest.raises(InvalidInput, match="function returned complex numbers"):
        sphere_figure(lambda x: 1j * x[:, 0], number=2)
    with pytest.raises(InvalidInput, match=r"points has shape \(4, 2\).*latlon_to_sphere"):
        sphere_figure(lambda x: x[:, 0], points=np.zeros((4, 2)), number=2)
    for wrong in (None, TorusKnot(2, 3), [Sphere(2)]):
        with pytest.raises(InvalidInput, match="knots must be a list of TorusKnot; got "):
            knot_figure(wrong, ANGLES, [("truth", [WAVE])])


FIVE = np.linspace(0, 1, 5)
KNOTS = [TorusKnot(2, 3)]
WRONG = {
    "interval, fewer": (lambda: interval_figure(FIVE, FIVE[:3], FIVE), "mean: the shape is (3,); needed is (5,)."),
    "interval, none": (lambda: interval_figure(None, FIVE, FIVE), "x must be numbers"),
    "interval, column": (lambda: interval_figure(FIVE[:, None], FIVE, FIVE), "x: the shape is (5, 1); needed is (N,)"),
    "interval, data": (lambda: interval_figure(FIVE, FIVE, FIVE, data=FIVE), "data must be a pair of arrays"),
    "circle, fewer": (lambda: circle_figure(FIVE, FIVE[:2]), "mean: the shape is (2,); needed is (5,)."),
    "circle, empty": (lambda: circle_figure([], []), "angles: the shape is (0,); needed is (N,), N >= 1."),
    "knots, angles": (lambda: knot_figure(KNOTS, None, [("f", [FIVE])]), "angles must be numbers"),
    "knots, columns": (lambda: knot_figure(KNOTS, FIVE, None), "columns must be a list of pairs (title, values)"),
    "knots, no columns": (lambda: knot_figure(KNOTS, FIVE, []), "one or more; got []"),
    "knots, fewer": (lambda: knot_figure(2 * KNOTS, FIVE, [("f", [FIVE, FIVE[:2]])]), "of shapes [(5,), (2,)]; needed"),
    "scores, fewer": (lambda: score_figure(["a"], {"m": ([1, 2], [1, 2])}, ylabel=""), "the means of 'm': the shape"),
    "scores, none": (lambda: score_figure(None, {"m": ([1], [1])}, ylabel=""), "settings must be a list of names"),
    "reliability, bins": (lambda: reliability_figure({"m": (FIVE, FIVE > 0)}, "a"), "bins must be a positive integer"),
    "reliability, none": (lambda: reliability_figure(None), "methods must be a dict from names to pairs of"),
    "scatter, none": (lambda: scatter_figure({}), "panels must be a dict from names to truth, mean and"),
    "scatter, fewer": (lambda: scatter_figure({"m": (FIVE, FIVE[:2], FIVE)}), "the mean of 'm': the shape is (2,)"),
    "search, minimum": (lambda: convergence_figure(FIVE, minimum="a"), "minimum must be a finite number; got 'a'"),
    "search, none": (lambda: convergence_figure({}), "values must be a dict from names to values of a search"),
    "residuals, words": (lambda: residuals_figure("a", FIVE, FIVE), "y must be numbers"),
    "residuals, zero": (lambda: residuals_figure(FIVE, FIVE, 0 * FIVE), "std must be positive; its least value is 0."),
    "classes, names": (lambda: probabilities_figure(["a"], [[0.5, 0.5]], ["a", "b"]), "labels must be numbers"),
    "classes, few": (lambda: probabilities_figure([2], [[0.5, 0.5]], ["a", "b"]), "from 0 to 1; got "),
    "kernel, none": (
        lambda: kernel_figure(FIVE, None, ""),
        "table must be a list of (method, values, standard errors)",
    ),
    "kernel, fewer": (lambda: kernel_figure(FIVE, [("m", FIVE[:2], FIVE)], ""), "the values of 'm': the shape is (2,)"),
    "kernels, none": (lambda: kernel_panels([]), "panels must be a list of (title, name, distances, curves)"),
}


@pytest.mark.parametrize("call, message", WRONG.values(), ids=WRONG)
def test_what_is_no_data_of_a_picture_is_refused(call, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        call()


def test_lists_are_drawn_too():
    axes = circle_figure(FIVE.tolist(), FIVE.tolist(), data=(FIVE.tolist(), FIVE.tolist())).axes[0]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), [*FIVE, FIVE[0]])
