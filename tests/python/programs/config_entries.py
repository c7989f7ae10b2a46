# Config entries of sessions and runs.
import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.add_session_config_entry("session.set_denormal_as_zero", "1")
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
options.add_session_config_entry("session.use_deterministic_compute", "1")
options.enable_mem_pattern = False
options.enable_cpu_mem_arena = True
options.enable_mem_reuse = True
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.log_severity_level = 3
options.log_verbosity_level = 0
options.logid = "test"
assert options.get_session_config_entry("session.set_denormal_as_zero") == "1"
session = ort.InferenceSession(MODEL, options, providers=[("CPUExecutionProvider", {})])
assert session.get_providers() == ["CPUExecutionProvider"]
assert "CPUExecutionProvider" in session.get_provider_options()
run_options = ort.RunOptions()
run_options.log_severity_level = 4
run_options.logid = "run"
run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
x = np.ones((1, 3, 32, 32), np.float32)
RESULT = {"output": session.run(None, {"input": x}, run_options)[0]}
