$ cp $DATA/digits.onnx $MODELS/*.onnxtxt .

$ hone --help
hone - make ONNX models fast, small and still right
~
Usage: hone COMMAND [OPTIONS] ARGUMENTS
~
Commands:
  info      describe a model: interface, parameters, operators, cost
  check     find everything that is wrong with a model
  save      edit a model: shapes, external data, parts, names
  optimize  make a graph smaller and faster, and report the changes
  quantize  make integers of weights and activations, and report what was done
  run       run a model
  bench     measure models: latency, throughput, memory, accuracy
  profile   show where time and memory go, and what could be done
  tune      measure the fastest kernels on this machine
  diff      compare the outputs of two models, or of a model with saved outputs
  view      show a graph, what it costs, and what an optimizer made of it
  ops       list the operators that hone supports, or describe one
  passes    list the passes of the optimizer
  kernels   list the kernels, and which of them run here
  providers list what runs nodes here, and the CPU features in use
~
See `hone COMMAND --help`. `hone --version` prints the version and this CPU's features.

$ hone --version
hone *
cpu: *

$ hone help save
hone save - edit a model: shapes, external data, parts, names
~
Usage: hone save [OPTIONS] MODEL -o FILE
~
The output is written under a temporary name and renamed, so FILE is the old one or the new one, never incomplete;
it may be the model itself. A data file is replaced together with its model, and kept when another model needs it.
Unchanged tensors are copied byte for byte.
~
Options:
  -o, --output FILE              where to write; .onnxtxt writes the textual syntax
  -x, --external-data[=always|never|keep]
                                 tensors in a data file beside the model (alone: always)
      --external-file NAME       name of the data file (default: FILE.data)
      --external-threshold BYTES smallest tensor that goes out (default 1024)
      --external-alignment BYTES alignment in the data file (default 4096)
      --inline-functions         replace calls of model-local functions by their bodies
  -i, --infer                    store the inferred type and shape of every value
  -d, --dim NAME=SIZE            fix a symbolic dimension (repeatable)
  -s, --shape INPUT=1x3x8x8      fix the shape of an input (repeatable)
      --custom-ops LIBRARY       operators of a shared library, see docs/custom-ops.md (repeatable)
  -e, --extract IN,OUT           keep the part from value IN to value OUT; several: in1,in2:out1,out2
  -r, --rename OLD=NEW           rename an input, an output or any value (repeatable)
      --strip[=docs,names,values,metadata,shapes,unused]
                                 remove what a run does not need (without a value: docs, names, metadata)
  -h, --help                     print this help
~
Examples:
  hone save in.onnx -o out.onnx --infer
      store inferred shapes, for viewers and other tools
  hone save big.onnx -o big2.onnx --external-data
      write weights to big2.onnx.data
  hone save in.onnx -o fixed.onnx --dim batch=1 --shape image=1x3x224x224
      fix symbolic dimensions
  hone save in.onnx -o part.onnx --extract image,features
      extract a part
  hone save in.onnx -o small.onnx --strip --inline-functions
      plain nodes, no docs, no names
  hone save in.onnx -o in.onnxtxt
      the textual syntax

$ hone polish model.onnx
hone: there is no command 'polish'; `hone --help` lists them
[2]

$ hone info
hone: give a model; see `hone info --help`
[2]

$ hone info --nodez model.onnx
hone: unknown option '--nodez'; did you mean '--nodes'? `hone info --help` lists the options
[2]

$ hone
hone - make ONNX models fast, small and still right
~
Usage: hone COMMAND [OPTIONS] ARGUMENTS
~
Commands:
  info      describe a model: interface, parameters, operators, cost
  check     find everything that is wrong with a model
  save      edit a model: shapes, external data, parts, names
  optimize  make a graph smaller and faster, and report the changes
  quantize  make integers of weights and activations, and report what was done
  run       run a model
  bench     measure models: latency, throughput, memory, accuracy
  profile   show where time and memory go, and what could be done
  tune      measure the fastest kernels on this machine
  diff      compare the outputs of two models, or of a model with saved outputs
  view      show a graph, what it costs, and what an optimizer made of it
  ops       list the operators that hone supports, or describe one
  passes    list the passes of the optimizer
  kernels   list the kernels, and which of them run here
  providers list what runs nodes here, and the CPU features in use
~
See `hone COMMAND --help`. `hone --version` prints the version and this CPU's features.
[2]

$ hone ops Relu | head -12
Relu-1
 inputs
  X    tensor(float16), tensor(float), tensor(double)
 outputs
  Y    tensor(float16), tensor(float), tensor(double)
 attributes
  consumed_inputs  ints
~
Relu-6
 inputs
  X    tensor(float16), tensor(float), tensor(double)
 outputs

$ hone ops Relux
hone: hone has no operator 'Relux'; did you mean 'Relu'? `hone ops` lists them
[1]

Kernels, and those that run: the cap makes it the same everywhere.

$ HONE_CPU=scalar hone kernels | grep -e family -e convert | cut -c 1-61
  family            instructions  runs  types          tile
  convert           avx512              f16 bf16 u8    16
  convert           avx2                f16 bf16 u8    8
  convert           neon                f16 bf16 u8    4
  convert           scalar        yes   f16 bf16 u8    1
$ HONE_CPU=scalar hone kernels --json | head -n 2
[
  {"family": "gemm", "instruction_set": "avx512", "runs": "", "types": "f32", "tile": "14x32", "results": "rounded", "summary": "tiles of matrix products, of which attention is made, too", "name": "hn_gemm_set_f32__avx512"},
$ hone kernels gemm
hone: `hone kernels` takes no arguments
[2]
