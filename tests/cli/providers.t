What runs nodes: without vector kernels the output is the same on all processors.
$ HONE_CPU=scalar hone providers
  provider  tier    kernels  processor features
  cpu       scalar        0

$ HONE_CPU=scalar hone providers --json
[
  {"name": "cpu", "tier": "scalar", "n_kernels": 0, "features": ""}
]

$ hone providers | head -n 1
  provider  tier    kernels  processor features

$ hone run $DATA/digits.onnx --random 1 --provider nothing | head -n 2
hone: there is no provider 'nothing'; this build has: cpu

$ hone providers cpu
hone: `hone providers` takes no arguments
[2]
