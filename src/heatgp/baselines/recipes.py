"""How a competent user would fit the usual methods to coordinates Z (N, d): functions to fitted scikit-learn models.

`tuned=False` leaves each at scikit-learn's defaults, and the RBF length-scale at one, as the paper seems to have done.
"""

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR


def rbf(Z: np.ndarray, tuned: bool) -> Kernel:
    """Amplitude times RBF; tuned, its one length-scale is searched around the median distance of the points."""
    amplitude = ConstantKernel(1.0, (1e-3, 1e5))
    if not tuned:
        return amplitude * RBF(1.0, "fixed")
    median = float(np.median(pdist(Z[:1000]))) if len(Z) > 1 else 1.0
    length = median if median > 0 else 1.0
    return amplitude * RBF(length, (0.01 * length, 100 * length))


def rbf_regressor(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    kernel = rbf(Z, tuned) + WhiteKernel(0.1, (1e-8, 10.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=3, random_state=seed).fit(Z, y)


def rbf_classifier(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    return GaussianProcessClassifier(rbf(Z, tuned), n_restarts_optimizer=1, random_state=seed).fit(Z, y)


def svm_regressor(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    if not tuned or len(y) < 5:
        return SVR().fit(Z, y)
    grid = {"svr__C": [1.0, 10.0, 100.0, 1000.0], "svr__gamma": gammas(Z), "svr__epsilon": [0.01, 0.1]}
    pipeline = make_pipeline(standardised(Z), SVR())
    search = GridSearchCV(pipeline, grid, cv=KFold(5, shuffle=True, random_state=seed))
    return TransformedTargetRegressor(search, transformer=StandardScaler()).fit(Z, y)


def svm_classifier(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    """Probabilities by Platt's logistic fit to cross-validated scores."""
    folds = stratified(y, seed)
    if not tuned or folds is None:
        model: Any = SVC()
    else:
        grid = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": gammas(Z)}
        model = GridSearchCV(make_pipeline(standardised(Z), SVC()), grid, cv=folds).fit(Z, y).best_estimator_
    if folds is None:  # a class with one point: nothing to calibrate on
        return CalibratedClassifierCV(model, cv=[(np.arange(len(y)), np.arange(len(y)))], ensemble=False).fit(Z, y)
    return CalibratedClassifierCV(clone(model), cv=folds, ensemble=False).fit(Z, y)


def linear_regressor(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    if not tuned:
        return Ridge().fit(Z, y)
    return make_pipeline(standardised(Z), RidgeCV(np.logspace(-5, 4, 19))).fit(Z, y)


def linear_classifier(Z: np.ndarray, y: np.ndarray, tuned: bool, seed: int) -> Any:
    folds, logistic = stratified(y, seed), LogisticRegression(max_iter=2000)
    if not tuned or folds is None:
        return logistic.fit(Z, y)
    grid = {"logisticregression__C": np.logspace(-2, 3, 6)}
    pipeline = make_pipeline(standardised(Z), logistic)
    return GridSearchCV(pipeline, grid, cv=folds, scoring="neg_log_loss").fit(Z, y)


def standardised(Z: np.ndarray) -> ColumnTransformer:
    """Coordinates to mean zero and variance one, without those that vary by rounding only."""
    spread = np.std(Z, axis=0)
    return ColumnTransformer([("varying", StandardScaler(), np.flatnonzero(spread >= 1e-9 * spread.max()))])


def gammas(Z: np.ndarray) -> np.ndarray:
    """Around one over the number of coordinates, scikit-learn's choice for standardised ones."""
    return np.array([0.1, 1.0, 10.0]) / Z.shape[1]


def stratified(y: np.ndarray, seed: int) -> StratifiedKFold | None:
    """Five folds, or as many as the smallest class has points; None below two."""
    folds = min(5, int(np.unique(y, return_counts=True)[1].min()))
    return StratifiedKFold(folds, shuffle=True, random_state=seed) if folds > 1 else None


REGRESSORS = {"rbf": rbf_regressor, "svm": svm_regressor, "linear": linear_regressor}
CLASSIFIERS = {"rbf": rbf_classifier, "svm": svm_classifier, "linear": linear_classifier}
