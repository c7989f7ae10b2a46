"""Architectures quantized to 8 bits by onnxruntime's own tool, for bench/bench_speed.py.

usage: int8_models.py FOLDER [static|dynamic]

static: QDQ, weights per channel, activations in uint8 with the ranges of the bench's inputs. dynamic: as quantize_dynamic
makes them. A file that exists is kept.
"""

import logging
import sys
import tempfile
from pathlib import Path

import models_to_measure
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

NAMES = ("mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "resnet18", "resnet50", "squeezenet1_1", "minilm_l6",
         "bert_base")
# With seeded weights onnxruntime's own results move by 7 % when it does not optimize: nothing can be said of ours.
NOT_STATIC = ("bert_base",)


class BenchInputs(quantization.CalibrationDataReader):
    """The inputs that the bench will use: speed does not depend on ranges, but saturated outputs prove nothing."""

    def __init__(self, path):
        self.left = iter([models_to_measure.random_inputs(path)])

    def get_next(self):
        return next(self.left, None)


def quantize(path, form, out):
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / path.name
        quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        if form == "dynamic":
            quantization.quantize_dynamic(str(prepared), str(out))
        else:
            quantization.quantize_static(str(prepared), str(out), BenchInputs(prepared), per_channel=True,
                                         activation_type=quantization.QuantType.QUInt8,
                                         weight_type=quantization.QuantType.QInt8)


def main():
    folder, form = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "static"
    logging.disable(logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    for path in models_to_measure.architectures(NAMES, None):
        out = folder / path.name
        is_wanted = path.stem in NAMES and (form == "dynamic" or path.stem not in NOT_STATIC)
        if is_wanted and not out.exists():
            unfinished = out.with_suffix(".unfinished")
            quantize(path, form, unfinished)
            unfinished.rename(out)


if __name__ == "__main__":
    main()
