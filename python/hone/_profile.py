"""Profiles: a file of events in the format of onnxruntime, which trace viewers read."""

from __future__ import annotations

import datetime
import json
import os
import threading
import time
from typing import Any


class Profile:
    """Events of a session until it ends."""

    def __init__(self, prefix: str) -> None:
        stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S.%f")[:-3]
        self.path = f"{prefix}_{stamp}.json"
        self.start_ns = time.monotonic_ns()
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add_session_event(self, name: str, start_ns: int, end_ns: int) -> None:
        """Records an event of the whole session."""
        with self._lock:
            self._events.append(self._event("Session", name, start_ns, end_ns, {}))

    def add_run(self, steps: list[Any], start_ns: int, end_ns: int) -> None:
        """Records a run, with the steps that the extension recorded."""
        events = [self._step_event(step) for step in steps]
        began, ended = (steps[0][5], steps[-1][6]) if steps else (start_ns, end_ns)
        events.append(self._event("Session", "SequentialExecutor::Execute", began, ended, {}))
        events.append(self._event("Session", "model_run", start_ns, end_ns, {}))
        with self._lock:
            self._events.extend(events)

    def _event(self, category: str, name: str, start_ns: int, end_ns: int, args: dict[str, Any]) -> dict[str, Any]:
        return {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "dur": (end_ns - start_ns) // 1000,
            "ts": max(0, start_ns - self.start_ns) // 1000,
            "ph": "X",
            "name": name,
            "args": args,
        }

    def _step_event(self, step: tuple[Any, ...]) -> dict[str, Any]:
        (name, domain, op, provider, node, start_ns, end_ns) = step[:7]
        (n_activation, n_parameter, n_output, inputs, outputs, origins, kernel, macs) = step[7:]
        args = {
            "op_name": op,
            "domain": domain,
            "provider": "CPUExecutionProvider" if provider == "cpu" else provider,
            "node_index": str(node),
            "activation_size": str(n_activation),
            "parameter_size": str(n_parameter),
            "output_size": str(n_output),
            "input_type_shape": json.loads(inputs),
            "output_type_shape": json.loads(outputs),
            "macs": str(macs),
            "kernel": kernel,
            "nodes": origins.split("\0")[1:] or [name],  # ours: those of the model that a fused one computes
        }
        return self._event("Node", f"{name or f'{op}_{node}'}_kernel_time", start_ns, end_ns, args)

    def save(self) -> str:
        """Writes the file; returns its path."""
        with self._lock, open(self.path, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(event) for event in self._events) + "\n]\n")
        return self.path
