"""What combines with what: one table. Models ask it before any work, the documentation prints it, the tests try it.

A row is an argument or a method. Where a kind of model does not have it, the row has the error, with what to do
instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..arguments import has_same_values, is_list, is_number, shown
from ..covariance import Array
from ..errors import CostWarning, HeatGPError, InvalidInput, Unsupported, warn
from ..gp.parameters import NO_PRIOR
from ..gp.poisson import Poisson
from ..gp.regression_likelihood import NO_EXPOSURE, RegressionLikelihood, check_log_density
from ..gp.student import StudentT

NORMAL, STUDENT, POISSON, OUTPUTS = "normal", "Student-t", "Poisson", "several outputs"
SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS = "sparse", "Student-t or Poisson, sparse", "neighbors"
CLASSES, SPARSE_CLASSES = "classes", "classes, sparse"
KINDS = (NORMAL, STUDENT, POISSON, OUTPUTS, SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS, CLASSES, SPARSE_CLASSES)
"""GPRegressor by its likelihood, with several outputs and by structure, and GPClassifier."""
INFERENCES = ("auto", "dense", "sparse", "neighbors")
"""What `inference` of GPRegressor may be."""
DENSE = 4000
"""Data up to which inference="auto" is dense: a fit of a minute."""

Row = dict[str, tuple[type[HeatGPError], str]]


def refused(kinds: Iterable[str], text: str, error: type[HeatGPError] = Unsupported) -> Row:
    """One error for some kinds of models."""
    return dict.fromkeys(kinds, (error, text))


def of_regression(name: str, remedy: str) -> Row:
    """An argument that GPClassifier does not have."""
    return refused(LABELS, f"{{call}} has no argument {name}; only GPRegressor has it. {remedy}.", InvalidInput)


LABELS, LIKELIHOODS = (CLASSES, SPARSE_CLASSES), (STUDENT, POISSON, SPARSE_LIKELIHOODS)
NOT_BY_LIKELIHOOD = '{name} is not possible with {likelihood}. Leave it None, or use likelihood="normal".'
MEAN_OF_LABELS = 'mean = {value} is not known. Use "constant", "zero", "linear" or a function of points.'
NORMAL_ALONE = refused(LIKELIHOODS, NOT_BY_LIKELIHOOD, InvalidInput)
NO_METHOD = refused(LABELS, "GPClassifier has no such method. Use predict_proba.")
OF_LABELS = refused(set(KINDS) - set(LABELS), "GPRegressor has no such method. It is of GPClassifier.")
ONE_OUTPUT = refused([OUTPUTS], "{call} is for one output, and y has {number} columns. Fit one model for each column.")
COUNTS = 'exposure is for counts, and it needs likelihood="poisson". Leave it None, or divide y by it.'
PROBABILITIES = "Probabilities state the uncertainty of labels: use predict_proba"
NO_DATA = "{call} needs all data, which a sparse model does not keep. Use fewer data, dense."
NO_LOO = (
    "leave-one-out predictions need all data, and this model does not keep them, or not for that. Hold data out and "
    'predict them, or use inference="dense".'
)
NOT_SPARSE = 'inference="{inference}" is not possible with {what}. Leave it "auto": the model is then dense.'

NOT_IN_PARTS = (
    'inference="neighbors" is not for data from partial_fit, memory-mapped files and Dask arrays. Use "sparse", or '
    "give all data as NumPy arrays, such as numpy.asarray(X)."
)
ADDED = (
    refused(
        LIKELIHOODS, "partial_fit adds data to a sparse model, and these have normal noise. Give all data to one fit."
    )
    | refused([OUTPUTS], "partial_fit adds data to a sparse model, and these have one output. Fit one for each column.")
    | NO_METHOD
)

PLAN: dict[str, Row] = {
    "fit(sample_weight=)": NORMAL_ALONE
    | of_regression(
        "sample_weight",
        "Leave it out; a whole number as weight is that many equal rows: numpy.repeat(X, weights, axis=0)",
    ),
    "fit(covariates=)": of_regression(
        "covariates",
        "Make them coordinates of the points: M = Product(manifold, Euclidean(q)), X = M.join(X, covariates)",
    ),
    "fit(exposure=)": refused([NORMAL, OUTPUTS, SPARSE, NEIGHBORS], COUNTS, InvalidInput)
    | refused([STUDENT], NO_EXPOSURE, InvalidInput)
    | of_regression("exposure", 'For counts use GPRegressor(likelihood="poisson")'),
    "noise=array": refused(LIKELIHOODS, 'Known variances need likelihood="normal".', InvalidInput)
    | of_regression(
        "noise", "Labels have `label_noise`, an argument of GPClassifier: the share of them that is drawn at random"
    ),
    "Priors(noise_bounds=)": refused((*LIKELIHOODS, *LABELS), NO_PRIOR, InvalidInput),
    "Priors(coefficients=)": refused(LABELS, NO_PRIOR, InvalidInput),
    'likelihood="student-t"': refused([NEIGHBORS], NOT_SPARSE)
    | refused([OUTPUTS], "With {likelihood} fit one model for each column, y[:, 0].", InvalidInput)
    | of_regression("likelihood", "Labels have a probit likelihood. Use GPRegressor for numbers and counts"),
    'mean="zero"': {},
    "mean=number": refused(LABELS, MEAN_OF_LABELS, InvalidInput),
    'mean="linear"': {},
    "mean=function": {},
    'smoothness="learn"': {},
    'kernel="precomputed"': refused([SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS, SPARSE_CLASSES], NOT_SPARSE),
    "kernel=k1 + k2": {},
    "normalize=False": refused([SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS, SPARSE_CLASSES], NOT_SPARSE),
    "partial_fit": ADDED | refused([NEIGHBORS], NOT_IN_PARTS),
    "partial_fit after fit": ADDED
    | refused(
        [NEIGHBORS], 'this model is of near neighbors: fit all data, or start with partial_fit or inference="sparse".'
    ),
    'integrate="grid"': ONE_OUTPUT
    | refused([NEIGHBORS], 'inference="neighbors" is not for parameters that are integrated over. Use "sparse".')
    | refused([SPARSE_LIKELIHOODS, SPARSE_CLASSES], NOT_SPARSE),
    "predict(return_std=True)": of_regression("return_std", PROBABILITIES),
    "predict(return_cov=True)": of_regression("return_cov", PROBABILITIES),
    "predict_proba, decision_function": OF_LABELS,
    "predict_interval": NO_METHOD,
    "log_density": NO_METHOD,
    "nlpd_scorer": {},
    "gradient": NO_METHOD,
    "sample_y": NO_METHOD,
    "sample_functions": ONE_OUTPUT | NO_METHOD,
    "loo": refused([SPARSE, SPARSE_LIKELIHOODS, SPARSE_CLASSES], NO_LOO),
    "summary": {},
    "plot": ONE_OUTPUT | refused([SPARSE, SPARSE_LIKELIHOODS, SPARSE_CLASSES], NO_LOO),
    "kernel_error": refused([SPARSE_LIKELIHOODS, SPARSE_CLASSES], NO_DATA),
    "log_marginal_likelihood(gradient=True)": ONE_OUTPUT | refused([SPARSE_LIKELIHOODS, SPARSE_CLASSES], NO_DATA),
}


ARGUMENTS = {name: f"fit({name}=)" for name in ("sample_weight", "covariates", "exposure")}
ARGUMENTS |= {name: f"predict({name}=True)" for name in ("return_std", "return_cov")}
ARGUMENTS |= {"noise": "noise=array", "likelihood": 'likelihood="student-t"'}
"""The rows of arguments that GPClassifier does not have, by their names."""


def check(row: str, kind: str, **words: Any) -> None:
    """Raise the error of a row for a kind of model; `words` are what its text says of this model."""
    if kind in PLAN[row]:
        error, text = PLAN[row][kind]
        raise error(text.format(**{"call": row} | words))


def check_arguments(kind: str, given: dict[str, Any], **words: Any) -> None:
    """Raise the error of an argument that is given and that this kind of model does not have."""
    for name, value in given.items():
        if value is not None:
            check(ARGUMENTS[name], kind, name=name, **words)


def is_sparse(inference: str, count: int, reasons: dict[str, bool]) -> bool:
    """Whether so many data are given to a sparse model; reasons against one are named in the error.

    A CostWarning is given where many data go to a dense model for one of these reasons, and nobody asked for it.
    """
    against = [name for name, holds in reasons.items() if holds]
    if inference in ("sparse", "neighbors") and against:
        raise Unsupported(NOT_SPARSE.format(inference=inference, what=against[0]))
    many = inference == "auto" and count > DENSE
    if many and against:
        remedy = "Fit one model for each output" if against[0] == OUTPUTS else "Leave that out, or give fewer points"
        warn(
            f"{count:,} points are many for a dense model, whose time grows as N³, and there is no sparse one with "
            f'{against[0]}. {remedy}; where dense is what you want, give inference="dense".',
            CostWarning,
        )
    return inference in ("sparse", "neighbors") or (many and not against)


def table() -> str:
    """The table in Markdown.

    >>> print(table().splitlines()[2])
    | `fit(sample_weight=)` | yes | no | no | yes | yes | no | yes | no | no |
    """
    rows = [["", *KINDS], ["---"] * (1 + len(KINDS))]
    rows += [[f"`{name}`", *("no" if kind in row else "yes" for kind in KINDS)] for name, row in PLAN.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def chosen_likelihood(likelihood: Any, noise: Any) -> RegressionLikelihood | None:
    """The likelihood of this name, None for "normal"; or the likelihood itself."""
    if isinstance(likelihood, str) and likelihood == "normal":
        return None
    if isinstance(likelihood, str) and likelihood == "student-t":
        if not (noise is None or is_number(noise)):
            raise InvalidInput(
                f"noise = {shown(noise)}: with Student-t noise it must be one number, or None to learn it. Known "
                'variances need likelihood="normal".'
            )
        return StudentT(noise)
    if isinstance(likelihood, str) and likelihood == "poisson":
        chosen: RegressionLikelihood = Poisson()
    elif isinstance(likelihood, RegressionLikelihood):
        chosen = likelihood
    else:
        is_class = isinstance(likelihood, type) and issubclass(likelihood, RegressionLikelihood)
        raise InvalidInput(
            f"likelihood = {likelihood!r} is a class. Give an instance, {likelihood.__name__}()."
            if is_class
            else f'likelihood = {likelihood!r} is not known. Use "normal", "student-t", "poisson" or a '
            "RegressionLikelihood."
        )
    for field in fields(chosen):
        value = vars(chosen)[field.name]
        if field.name in chosen.from_data and value != field.default:
            raise InvalidInput(
                f"{field.name} = {value!r} of {type(chosen).__name__} is set from the data, so that yours would be "
                "ignored. Leave it out: `mean` and `amplitude` of GPRegressor are in the units of y, of counts those "
                "of the log rate."
            )
    if noise is not None:
        known = f" {PLAN['noise=array'][POISSON][1]}" if is_list(noise) else ""
        raise InvalidInput(
            f"noise = {shown(noise)}, but likelihood = {likelihood!r} has parameters of its own. Leave noise None, and "
            f"give them to the likelihood, such as StudentT(noise=0.1).{known}"
        )
    return chosen


def kind_of(likelihood: RegressionLikelihood | None, outputs: bool = False, structure: str = "dense") -> str:
    """The kind of model of regression; likelihoods of one's own count as one of these."""
    if outputs and likelihood is None:
        return OUTPUTS
    if likelihood is None or structure == "neighbors":
        return {"dense": NORMAL, "sparse": SPARSE, "neighbors": NEIGHBORS}[structure]
    return SPARSE_LIKELIHOODS if structure == "sparse" else POISSON if likelihood.is_discrete else STUDENT


def checked_observations(
    likelihood: RegressionLikelihood, points: Array, y: Any, exposure: Any = None
) -> tuple[Array, Any]:
    """The observations as a likelihood takes them, and their offset."""
    values = likelihood.check(y)
    if values.shape != (len(points),):
        raise InvalidInput(f"y has {len(values)} observations and X {len(points)} points. Give one for each point.")
    check_log_density(likelihood, values)
    return values, 0.0 if exposure is None else likelihood.offset(exposure, len(values))


@dataclass(frozen=True, eq=False)
class Sparse:
    """Inducing points carry the covariance of many data: `inference` of a model, with its options.

    Parameters
    ----------
    inducing : int or array, default None. The largest number of inducing points, or these points themselves.
    tolerance : number, default 0.01. The relative error that standard deviations of f may have.

    Raises
    ------
    InvalidInput : if a value is not possible.

    Examples
    --------
    >>> import heatgp as hg
    >>> gp = hg.GPRegressor(hg.Sphere(2), inference=hg.Sparse(inducing=500))
    """

    inducing: Any = None
    tolerance: float = 1e-2

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)
        inducing = self.inducing
        if is_list(inducing) and len(inducing) == 0:
            raise InvalidInput("inducing has no point. Give some, or None.")
        whole = is_number(inducing) and float(inducing).is_integer() and inducing >= 1
        if not (inducing is None or whole or is_list(inducing)):
            raise InvalidInput(
                f"inducing = {shown(inducing)} must be None, the largest number of inducing points, or an array of "
                "them."
            )

    def __eq__(self, other: object) -> bool:
        return has_same_values(self, other)


@dataclass(frozen=True)
class Neighbors:
    """Each datum depends on near ones alone, and each prediction is made from near data: `inference` of a model.

    Parameters
    ----------
    tolerance : number, default 0.01. A prediction is made from so many data that its standard deviation of f would not
        change by more than this part of it, and its mean by not more than ten times that.

    Raises
    ------
    InvalidInput : if the tolerance is no number between 0 and 1.

    Examples
    --------
    >>> import heatgp as hg
    >>> gp = hg.GPRegressor(hg.Sphere(2), smoothness=0.5, inference=hg.Neighbors(tolerance=1e-3))
    """

    tolerance: float = 1e-2

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)


def check_tolerance(tolerance: Any) -> None:
    """Raise InvalidInput where it is no number between 0 and 1."""
    if not (is_number(tolerance) and 0 < tolerance < 1):
        raise InvalidInput(f"tolerance = {shown(tolerance)} must be a number between 0 and 1, such as 0.01.")


def chosen_inference(inference: Any, known: Sequence[str] = INFERENCES) -> tuple[str, Sparse | Neighbors]:
    """The name of an inference, and its options."""
    if isinstance(inference, Sparse):
        return "sparse", inference
    if isinstance(inference, Neighbors) and "neighbors" in known:
        return "neighbors", inference
    if not (isinstance(inference, str) and inference in known):
        names = ", ".join(map(repr, known))
        raise InvalidInput(f"inference = {shown(inference)} is not known. Use one of {names}, or Sparse(...).")
    return inference, Sparse()
