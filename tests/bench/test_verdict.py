"""Results that differ from onnxruntime's are found, and ties are not mistaken for differences."""

import numpy
import pytest
import verdict

DETECTOR = "ssdlite320_mobilenet_v3"


def outputs(*numbers, dtype="f4"):
    return {"y": numpy.array(numbers, dtype)}


def detections(*found):
    """Each is (score, label, first number of its box)."""
    return {
        "boxes": numpy.array([[x, 0, x + 10, 10] for _, _, x in found], "f4"),
        "scores": numpy.array([score for score, _, _ in found], "f4"),
        "labels": numpy.array([label for _, label, _ in found], "i8"),
    }


MANY = [(0.9 - 0.01 * i, i % 3, 20 * i) for i in range(20)]


def test_equal_results_pass_with_their_difference():
    judged = verdict.judge("model", outputs(1, 2.00001), outputs(1, 2))
    assert 0 < judged["difference"] <= judged["tolerance"]


def test_float16_has_a_tolerance_of_its_own():
    verdict.judge("model", outputs(1, 2.002, dtype="f2"), outputs(1, 2, dtype="f2"))
    with pytest.raises(verdict.Wrong):
        verdict.judge("model", outputs(1, 2.01, dtype="f2"), outputs(1, 2, dtype="f2"))


@pytest.mark.parametrize(
    "ours",
    [
        outputs(1, 2.001),
        outputs(1, 2, 3),
        outputs(1, numpy.nan),
        outputs(1, numpy.inf),
        outputs(1, 2, dtype="f8"),
        {},
        {"z": numpy.array([1, 2], "f4")},
    ],
)
def test_other_results_are_wrong(ours):
    with pytest.raises(verdict.Wrong):
        verdict.judge("model", ours, outputs(1, 2))


def test_other_integers_are_wrong():
    with pytest.raises(verdict.Wrong):
        verdict.judge("model", outputs(1, 2, dtype="i8"), outputs(1, 3, dtype="i8"))


def test_an_output_that_is_one_number_proves_nothing():
    with pytest.raises(verdict.Wrong, match="prove nothing"):
        verdict.judge("model", outputs(0, 0), outputs(0, 0))


class Oracle:
    """A model whose output moves as far as its input, times a factor."""

    def __init__(self, factor):
        self.factor = factor

    def run(self, _, inputs):
        return [(1 + self.factor * (inputs["x"] - 1)).astype("f4")]


def judge_unstable(factor, gap):
    x = numpy.array([1, 0.5], "f4")
    theirs = outputs(1, 0.5)
    return verdict.judge("model", outputs(1, 0.5 + gap), theirs, Oracle(factor), {"x": x})


def test_a_model_that_magnifies_its_last_bits_may_differ_as_far():
    assert judge_unstable(1000, 1e-3)["tolerance"] > verdict.TOLERANCE


def test_but_no_farther():
    with pytest.raises(verdict.Wrong):
        judge_unstable(1, 1e-3)
    with pytest.raises(verdict.Wrong):
        judge_unstable(1e9, 0.2)


# ---- detections ----------------------------------------------------------------------------------------


def test_detections_with_equal_scores_may_come_in_any_order():
    theirs = [(0.9, 1, 0), (0.9, 2, 50), (0.9, 1, 90), (0.5, 3, 7)]
    ours = [theirs[2], theirs[0], theirs[1], theirs[3]]
    assert verdict.judge(DETECTOR, detections(*ours), detections(*theirs))["difference"] == 0


def test_detections_with_other_scores_may_not():
    ours = [(0.9, 1, 50), (0.8, 1, 0), (0.7, 1, 90)]
    theirs = [(0.9, 1, 0), (0.8, 1, 50), (0.7, 1, 90)]
    with pytest.raises(verdict.Wrong):
        verdict.judge(DETECTOR, detections(*ours), detections(*theirs))


def test_a_detection_counts_once():
    theirs = [(0.9, 1, 0), (0.9, 1, 50), (0.5, 1, 90)]
    ours = [theirs[0], theirs[0], theirs[2]]
    with pytest.raises(verdict.Wrong):
        verdict.judge(DETECTOR, detections(*ours), detections(*theirs))


def test_a_tie_for_the_last_place_may_be_picked_otherwise():
    last = MANY[-1]
    tied = [*MANY[:-1], (MANY[-2][0], 1, 7)], [*MANY[:-1], (MANY[-2][0], 2, 999)]
    assert verdict.judge(DETECTOR, *(detections(*rows) for rows in tied))
    with pytest.raises(verdict.Wrong):  # no tie
        verdict.judge(DETECTOR, detections(*MANY[:-1], (last[0], 2, 999)), detections(*MANY))


def test_many_of_them_may_not():
    ours = [(0.5, 1, 10 * i) for i in range(20)]
    theirs = [(0.5, 1, 10 * i + 5) for i in range(20)]
    with pytest.raises(verdict.Wrong):
        verdict.judge(DETECTOR, detections(*ours), detections(*theirs))


@pytest.mark.parametrize("change", [(0, 0.89), (1, 9), (2, 3.0)])
def test_another_score_label_or_box_is_wrong(change):
    place, value = change
    other = list(MANY[0])
    other[place] = value
    with pytest.raises(verdict.Wrong):
        verdict.judge(DETECTOR, detections(tuple(other), *MANY[1:]), detections(*MANY))


def test_other_numbers_of_detections_are_wrong():
    with pytest.raises(verdict.Wrong):
        verdict.judge(DETECTOR, detections(*MANY[:-1]), detections(*MANY))


def test_integers_move_as_onnxruntime_moves_without_optimizations():
    inputs = {"ids": numpy.zeros(3, "i8")}
    judged = verdict.judge("model", outputs(1, 2.02), outputs(1, 2), object(), inputs, lambda: outputs(1, 2.01))
    assert judged["tolerance"] == pytest.approx(4 * 0.005, rel=1e-3)
    with pytest.raises(verdict.Wrong):
        verdict.judge("model", outputs(1, 2.06), outputs(1, 2), object(), inputs, lambda: outputs(1, 2.01))
