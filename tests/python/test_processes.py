"""Sessions in forked processes, and signals that arrive during a run."""

import multiprocessing
import os
import signal
import threading

import hone
import numpy as np
import pytest
from conftest import loop_without_end, make_model
from onnx import TensorProto, helper


def session_with(model, n_threads):
    options = hone.SessionOptions()
    options.intra_op_num_threads = n_threads
    return hone.InferenceSession(model, options)


FEED = {"input": np.ones((1, 3, 32, 32), np.float32)}


def use_in_child(session, path, queue):
    before = session.run(None, FEED)[0]
    fresh = session_with(path, 2)
    after = fresh.run(None, FEED)[0]
    del fresh
    del session
    queue.put((before.tobytes(), after.tobytes()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_forked_children_run_create_free_and_exit(network, n_threads):
    session = session_with(network, n_threads)
    wanted = session.run(None, FEED)[0].tobytes()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=use_in_child, args=(session, network, queue)) for _ in range(3)]
    for child in children:
        child.start()
    for _ in children:
        assert queue.get(timeout=600) == (wanted, wanted)
    for child in children:
        child.join(600)
        assert child.exitcode == 0
    assert session.run(None, FEED)[0].tobytes() == wanted


class Interrupted(Exception):
    pass


def test_signals_end_a_run():
    """A handler that raises ends the run at once; one that returns does not."""
    seen = []

    def handler(number, frame):
        seen.append(number)
        if len(seen) == 3:
            raise Interrupted

    session = session_with(loop_without_end().SerializeToString(), 1)
    feed = {"n": np.array(1 << 62), "x": np.zeros(1, np.float32)}
    before = signal.signal(signal.SIGUSR1, handler)
    is_over = threading.Event()

    def send():
        while not is_over.wait(0.02):
            os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(Interrupted):
            session.run(None, feed)
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) >= 3


def noise_model():
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["y"])]
    return make_model(
        nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])],
    )


def draws(model, n, seed=None):
    options = hone.SessionOptions()
    if seed is not None:
        options.add_session_config_entry("hone.seed", str(seed))
    session = hone.InferenceSession(model, options)
    return [session.run(None, {"x": np.zeros(8, np.float32)})[0].tobytes() for _ in range(n)]


def test_random_numbers_are_new_in_every_run():
    model = noise_model().SerializeToString()
    assert len(set(draws(model, 4) + draws(model, 4))) == 8


def test_random_numbers_follow_from_a_seed():
    model = noise_model().SerializeToString()
    first = draws(model, 4, seed=7)
    assert len(set(first)) == 4
    assert draws(model, 4, seed=7) == first
    assert draws(model, 4, seed=8) != first
    hone.set_seed(7)
    try:
        assert draws(model, 4) == first
    finally:
        hone.set_seed(0)
