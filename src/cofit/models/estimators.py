"""Differentially private linear classifiers on the joint data of several owners, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from cofit.models.classifier import PrivateLinearClassifier
from cofit.models.linear_model import Reals


class LogisticRegression(PrivateLinearClassifier):
    r"""Logistic regression with differential privacy, trained on secret shares.

    Recipe 'best', the default: gradient descent with noise in every step. In 20 steps from w = 0,

        w <- w + step * (sum_i s_i clip((3 - s_i <w, z_i>) / 2, 0, 1) z_i + noise),    s_i = -1 or 1,

    where z_i is row i, centred and scaled to length 1, with a small constant for the intercept; the mean of the last 6
    iterates is released, and nothing else. The clipped line stands for the logistic loss's gradient, which is
    proportional to sigmoid(-margin), cut at a quarter. There is no penalty and nothing to tune: step and noise follow
    from rows, columns, epsilon and delta.

    **Several classes** (recipe 'best' with delta > 0): each has weights of its own, against the rest, and the class
    with the largest score is predicted. A record counts 1 in the sum of its own class and 1 / sqrt(n_classes - 1) in
    those of the others, so that it moves all of them together by at most sqrt(2), however many classes there are: one
    account, and not one for each class.

    Recipe 'paper': approximates the minimiser of

        J(w) = (1/n) sum_i log(1 + exp(-s_i <w, x_i>)) + (l2 / 2) ||w||^2,    ||x_i|| <= 1,

    over the rows of all owners, and releases w + noise. Rows are scaled to length 1, with the intercept's constant
    appended before. Predictions scale them likewise:

        score(x) = (<coef_, x> + intercept_) / max(||(x, intercept_scaling)||, floor)

    where floor is 0 if the owners scale, else the ``norm_floor`` of training, times ``feature_bound``.

    The noise makes any two data sets that differ in one record indistinguishable up to ``epsilon`` and ``delta``;
    ``certificate_`` states this with every number it rests on.

    Everything runs on this machine: a rehearsal of the real study, with all data in one place. Each owner and each
    computing party is a thread, or a process with ``processes=True``.

    Parameters
    ----------
    epsilon : float, default=1.0
        The privacy budget of this one release. Smaller is more private, with more noise.
    delta : float, default=None
        0, or a small probability, far below 1 / rows. None takes 1e-6 with recipe 'best' and 0 with recipe 'paper'.
        With 0 ('pure' privacy) there is much more noise.
    recipe : {'best', 'paper'}, default='best'
        The most accurate method that we know for these public facts, or the paper's method, calibrated honestly.
    scheme : str, default='rep3'
        The secret-sharing scheme; ``cofit schemes`` lists them.
    threshold : int, default=None
        How many computing parties may be corrupted together, where the scheme has a choice; fewer cost less. None: the
        most that it withstands. (Not the threshold of a decision: that is an argument of ``predict``.)
    fit_intercept : bool, default=True
        Whether to append a constant to each row.
    normalised_by : {None, 'owners', 'parties'}, default=None
        Who scales the rows: each owner its own, before sharing, or the parties on shares (always where owners hold
        columns, and with recipe 'best' where ``feature_bound`` is given and a common level is worth its price).
    feature_bound, feature_lower : float, default=None
        Agreed ranges: no feature is larger in magnitude than the first, and the mean of a row is never below the
        second (minus the first by default; 0 for features that are never negative). Agreed, not computed from the
        data. Recipe 'best' is more accurate with them, above all where there are few columns. Where the parties scale,
        the bound is 1 by default.
    row_nonzeros : int, default=None
        About how many values of a row are not 0, as far as is publicly known. For delta = 0 with recipe 'best' only:
        sparse rows get noise in another geometry then. It changes the accuracy, never the guarantee.
    pure_steps : bool, default=None
        Recipe 'best' with delta = 0, two classes: noise in one to ten gradient steps in place of noise on the
        minimiser, where a rule of rows, columns and epsilon (below 2) says that this is more accurate. None: True.
        False: noise on the minimiser.
    calibrate_intercept : bool, default=False
        Recipe 'best' with delta > 0: spend 5 % of the budget on three more steps for the intercept alone, after the
        weights. It seldom helps, because the constant beside each row serves as well; try it on public data first.
    budget_shares : dict, default=None
        Recipe 'best' with delta > 0: what part of the budget 'level', 'centre' and 'intercept' get, as in
        ``{'level': 0.02, 'centre': 0}``, in place of what the recipe would choose; 0 leaves a release out, and the
        steps have the rest. Chosen on public data it changes the accuracy and not the guarantee.
    norm_floor : float, default=1/16
        Where the parties scale: rows shorter than this, times ``feature_bound``, are divided by this length instead.
    clip_rows : bool, default=None
        Recipe 'best' with delta > 0: centre rows by a private mean, bring columns to one scale by private spreads and
        clip rows at a private radius, for 15 % of the budget, so that it matters little how the columns are scaled;
        rows are not scaled to length 1 then. None: where there are few columns and many rows for that, by a rule of
        public facts (at epsilon = 1: from about 660 rows for 3 columns, 2,100 for 30, 5,400 for 100).
    shrinkage : 'auto' or float, default='auto'
        Predictions set released weights to 0 that are smaller than so many standard deviations of the noise, and move
        others towards 0, the less the larger they are; at no cost in privacy. 'auto': where the noise is normal and the
        release itself shows that few columns matter, with recipe 'best'; elsewhere 0. 0: the weights as released.
    l2 : float, default=None
        Recipe 'paper' only, as all that follow up to ``allow_unproven``; None takes the default in brackets. The
        penalty of the *mean* loss (1.0). scikit-learn's C is 1 / (n l2). More penalty, less noise.
    mechanism : {'knorm', 'laplace', 'gaussian'}, default=None
        The noise ('knorm' for delta = 0, else 'gaussian').
    sensitivity : {'tight', 'paper'}, default=None
        The bound of one record's gradient ('tight').
    epochs : int or 'auto', default=None
        'auto' takes as many as ``tolerance`` needs ('auto').
    solver : {'auto', 'gradient_descent', 'accelerated'}, default=None
        The method of minimisation ('auto').
    learning_rate, momentum, initial : float, float, {'zeros', 'glorot'}, default=None
        Train with a learning rate of your own, as the paper does, instead of a proven step. Needs ``allow_unproven``
        where the result is not proven to be near the minimiser.
    intercept_scaling : float, default=None
        The constant of the intercept, in units of the features (1.0). Choose it about as large as a typical row is
        long. Its weight is penalised.
    tolerance : float, default=None
        How near the minimiser 'auto' epochs come, as a part of what one record can move it (1e-3).
    allow_unproven : bool, default=None
        Train even where the guarantee is not proven (False). The certificate then says so in its first line.
    classes : list of labels, default=None
        The classes, agreed on beforehand; a label that is none of them is refused, and one of them may be absent. None
        takes them from the labels, which are then not secret: the certificate says so.
    reference : table or ReferenceMap, default=None
        Recipe 'best' with delta > 0: public rows without labels, like the owners' but of nobody who is in the data, at
        least 20. Owners map their rows by what they show of how rows vary, or the parties do where owners hold columns;
        with many columns and a small epsilon that leaves much less room for noise. The rows become public by it. A map
        that was made before (``cofit.reference_map``) may keep the reference's directions alone.
    parties : int, default=None
        How many computing parties, where the scheme has a choice. None: as many as is usual with the scheme.
    processes : bool, default=False
        Run every owner and party as a process over TLS. The script then needs ``if __name__ == "__main__":``.
    threads : int, default=None
        Kernel threads of each process.
    state : path, default=None
        A directory for each party's share of the noisy weights. Fitting again with the same directory, plan and data
        opens the same weights; other data are refused there. Use one directory for one release, none in
        cross-validation.
    timeout : float, default=60.0
        Seconds after which a silent member is given up.
    progress : bool, function or None, default=None
        None shows a display on standard error if that is an interactive terminal; True and False force it. A function
        is called with each ``cofit.roles.Progress`` instead.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        The weights that predictions use: noisy, and moved towards 0 where ``shrinkage`` says so.
    released_coef_ : array of the same shape
        The noisy weights as they were released.
    intercept_ : array of shape (1,), or (n_classes,)
        The noisy intercept, already multiplied by its constant; 0 without one.
    classes_ : array of shape (n_classes,)
        The two labels, sorted. They come from the labels of all owners and are public: agree on them beforehand.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        The names of the columns, if the owners gave data frames with text as names.
    n_iter_ : int
        The epochs.
    certificate_ : cofit.Certificate
        What the release guarantees, and why. ``certificate_.headline`` is its first line.
    model_ : cofit.LinearModel
        The released model, which needs no scikit-learn.
    plan_ : Plan
        Everything that followed from public facts, before any secret was touched.
    openings_ : tuple of cofit.Opening
        The audit log: all that was opened.
    traffic_ : mapping from member to Counts
        The rounds, messages and bytes of everybody.

    Notes
    -----
    There is no ``random_state``: whoever knew the seed could subtract the noise. Two fits differ, by design.

    Every fit is a release of its own, and their epsilons add up. ``cross_val_score`` and ``GridSearchCV`` fit many
    times, and their scores are computed from the data without any noise. Use them on made-up or public data.

    Rows, columns, owners' names and sizes, the classes, the columns' names and all parameters are public.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = np.where(X[:, 0] > 0, "ill", "healthy")
    >>> owners = {"clinic-a": (X[:250], y[:250]), "clinic-b": (X[250:], y[250:])}
    >>> model = LogisticRegression(epsilon=3.0).fit(owners)
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
    ['ill', 'healthy']
    >>> model.certificate_.proven
    True
    """

    _loss = "logistic"

    def predict_proba(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return the probability of each class for each row, shape (n, n_classes).

        sigmoid(2 score) with recipe 'best', whose score is half a margin; sigmoid(score) with recipe 'paper'. Of
        several classes, that of each over the sum of all. smoothing: as in ``decision_function``.
        """
        rows = self._rows(X)
        return self.model_.predict_proba(rows, smoothing=smoothing)


class LinearSVC(PrivateLinearClassifier):
    r"""Linear support vector machine with differential privacy, trained on secret shares.

    Recipe 'best', the default, is that of ``LogisticRegression`` but for the clipped line: with the score <w, z_i>,

        w <- w + step * (sum_i s_i clip(5/2 - 2 s_i <w, z_i>, 0, 1) z_i + noise),    s_i = -1 or 1,

    which is the derivative of the hinge max(0, 1 - s_i <w, z_i>), rounded within 1/4 of its corner. Models are as
    accurate as those of ``LogisticRegression``, with a hinge loss a little lower on most data, and no probabilities.

    Recipe 'paper', and recipe 'best' with delta = 0 where no noise is in steps (``pure_steps``), approximate the
    minimiser of

        J(w) = (1/n) sum_i h(s_i <w, x_i>) + (l2 / 2) ||w||^2,    s_i = -1 or 1,  ||x_i|| <= 1,

    with the Huberised hinge: h(m) = 0 for m > 3/2, (3/2 - m)^2 / 2 for 1/2 <= m <= 3/2, and 1 - m below, over the rows
    of all owners, and releases w + noise. One record's gradient can always reach 1, so 'tight' and 'paper' are the same
    here, and the noise is larger.

    Parameters, attributes and notes are those of ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import LinearSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LinearSVC(epsilon=3.0, feature_bound=5.0).fit([(X[:250], y[:250]), (X[250:], y[250:])])
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
    [1, 0]
    """

    _loss, _loss_of_descent = "huber_hinge", "hinge"
