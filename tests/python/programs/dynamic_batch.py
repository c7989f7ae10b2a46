# One session, many batch sizes.
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(MODEL, providers=onnxruntime.get_available_providers())
(image,) = session.get_inputs()
assert image.shape == ["batch", 3, 32, 32] and image.type == "tensor(float)", image
random = np.random.default_rng(1)
RESULT = {}
for batch in (1, 3, 8, 1, 5):
    x = random.standard_normal([batch if isinstance(d, str) else d for d in image.shape]).astype(np.float32)
    probabilities, logits = session.run([o.name for o in session.get_outputs()], {image.name: x})
    assert probabilities.shape == (batch, 10)
    RESULT[f"{batch}"] = probabilities
    RESULT[f"{batch} logits"] = logits
(only,) = session.run(["logits"], {"input": x})
RESULT["only"] = only
