import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.model import MODELS, TrainingData, model_module
from snellen.tasks.isolated.model.features import simple_features

CLASSES = 4
# Networks learn in epochs; their tests are in model/.
FITTED = [name for name in MODELS if hasattr(model_module(name), "fit")]


def clips(n_each=8, classes=3, seed=0):
    """Clips whose class is the height of their first channel; class 3 of 4 is never shown."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), n_each)
    values = rng.normal(scale=0.3, size=(len(labels), 24, 6)).astype(np.float32)
    values[:, :, 0] += labels[:, None]
    values[:, :, 1] += np.sin(np.arange(24) * (labels[:, None] + 1) / 4)
    return TrainingData(values, np.ones((len(labels), 24, 2), bool), labels, CLASSES)


@pytest.mark.train
@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_model_gives_a_distribution_over_trained_classes_only(name):
    data = clips()

    logs = model_module(name).fit(data, 0).log_probabilities(data.values, data.mask)

    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)
    assert np.isneginf(logs[:, 3]).all()
    assert np.isfinite(logs[:, :3]).all()


@pytest.mark.train
@pytest.mark.parametrize("name", [name for name in FITTED if name != "majority"])
def test_a_model_learns_what_is_easy(name):
    data, new = clips(), clips(seed=1)

    answers = model_module(name).fit(data, 0).log_probabilities(new.values, new.mask).argmax(1)

    assert (answers == new.labels).mean() > 0.8


def test_majority_answers_the_most_frequent_class():
    data = clips()
    unequal = TrainingData(data.values[4:], data.mask[4:], data.labels[4:], CLASSES)

    logs = (
        model_module("majority").fit(unequal, 0).log_probabilities(data.values[:2], data.mask[:2])
    )

    assert logs.argmax(axis=1).tolist() == [1, 1]  # 4 clips of class 0, 8 of 1, 8 of 2
    np.testing.assert_allclose(np.exp(logs[0]), [0.2, 0.4, 0.4, 0.0])


@pytest.mark.train
@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_model_written_as_arrays_and_read_back_answers_alike(name, classes):
    data = clips(classes=classes)
    module = model_module(name)
    fitted = module.fit(data, 0)

    again = module.from_arrays(fitted.arrays())

    np.testing.assert_array_equal(
        again.log_probabilities(data.values, data.mask),
        fitted.log_probabilities(data.values, data.mask),
    )


@pytest.mark.train
def test_a_forged_transform_is_refused_before_compiled_code_reads_past_it():
    arrays = model_module("rocket").fit(clips(), 0).arrays()
    arrays["channels"] = arrays["channels"][:-1]

    with pytest.raises(ValueError, match="do not fit together"):
        model_module("rocket").from_arrays(arrays)


@pytest.mark.train
def test_a_transform_of_more_channels_is_refused():
    data = clips()
    fitted = model_module("rocket").fit(data, 0)

    with pytest.raises(ValueError, match="other channels"):
        fitted.log_probabilities(data.values[:, :, :2], data.mask)


@pytest.mark.train
def test_trees_in_which_a_clip_would_fall_for_ever_are_refused():
    arrays = model_module("trees").fit(clips(), 0).arrays()
    arrays["left"] = np.where(arrays["left"] >= 0, 0, arrays["left"])

    with pytest.raises(ValueError, match="do not fit together"):
        model_module("trees").from_arrays(arrays)


@pytest.mark.train
def test_the_trees_answer_as_scikit_learn_does():
    from sklearn.ensemble import ExtraTreesClassifier

    data = clips()
    features = simple_features(data.values, data.mask)
    forest = ExtraTreesClassifier(120, random_state=7).fit(features, data.labels)

    ours = np.exp(model_module("trees").fit(data, 7).log_probabilities(data.values, data.mask))

    # Ours adds one undecided tree over the three trained classes.
    expected = (120 * forest.predict_proba(features) + 1 / 3) / 121
    np.testing.assert_allclose(ours[:, :3], expected, atol=1e-12)


@pytest.mark.train
def test_lda_answers_as_scikit_learn_does():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    data = clips()
    features = simple_features(data.values, data.mask)
    scaled = (
        (features - features.mean(0)) / np.where(features.std(0) > 0, features.std(0), 1)
    ).astype(np.float64)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(scaled, data.labels)

    ours = np.exp(model_module("lda").fit(data, 0).log_probabilities(data.values, data.mask))

    np.testing.assert_allclose(ours[:, :3], lda.predict_proba(scaled), atol=1e-6)


@pytest.mark.train
@pytest.mark.parametrize("name", FITTED)
def test_the_same_seed_gives_the_same_weights(name):
    data = clips()
    one, other = (model_module(name).fit(data, 3).arrays() for _ in range(2))

    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key])


def test_features_are_counted_as_documented():
    values = np.zeros((2, 64, 6), np.float32)

    assert simple_features(values, np.ones((2, 64, 3), bool)).shape == (2, 14 * 6 + 3)


def test_an_unknown_model_is_named_with_those_there_are():
    with pytest.raises(BadInput, match=r"no model 'rockt'.*majority, lda, trees, rocket"):
        model_module("rockt")
