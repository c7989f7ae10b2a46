# Inputs and outputs that stay where they are.
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
x = np.random.default_rng(2).standard_normal((2, 3, 32, 32)).astype(np.float32)

binding = session.io_binding()
binding.bind_cpu_input("input", x)
binding.bind_output("output")
session.run_with_iobinding(binding)
RESULT = {"new memory": binding.copy_outputs_to_cpu()[0]}

x_value = ort.OrtValue.ortvalue_from_numpy(x)
y_value = ort.OrtValue.ortvalue_from_shape_and_type([2, 10], np.float32, "cpu", 0)
binding = session.io_binding()
binding.bind_input("input", x_value.device_name(), 0, np.float32, x_value.shape(), x_value.data_ptr())
binding.bind_output("output", "cpu", 0, np.float32, y_value.shape(), y_value.data_ptr())
binding.bind_output("logits", "cpu")
binding.synchronize_inputs()
session.run_with_iobinding(binding)
binding.synchronize_outputs()
RESULT["own memory"] = y_value.numpy()
RESULT["second"] = binding.get_outputs()[1].numpy()

x_value.update_inplace(2 * x)
binding.clear_binding_outputs()
binding.bind_ortvalue_output("output", y_value)
session.run_with_iobinding(binding)
RESULT["changed input"] = y_value.numpy()
assert y_value.data_type() == "tensor(float)" and y_value.is_tensor()

(value,) = session.run_with_ort_values(["logits"], {"input": x_value})
RESULT["values"] = value.numpy()
