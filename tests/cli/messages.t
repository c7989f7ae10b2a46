Misspelled words: the nearest known one is offered.

$ hone chekc model.onnx
hone: there is no command 'chekc'; did you mean 'check'? `hone --help` lists them
[2]
$ hone optimise model.onnx
hone: there is no command 'optimise'; did you mean 'optimize'? `hone --help` lists them
[2]
$ hone help rnu
hone: there is no command 'rnu'; did you mean 'run'? `hone --help` lists them
[2]
$ hone frobnicate
hone: there is no command 'frobnicate'; `hone --help` lists them
[2]
$ hone run model.onnx --repaet 3
hone: unknown option '--repaet'; did you mean '--repeat'? `hone run --help` lists the options
[2]
$ hone run model.onnx --thread=3
hone: unknown option '--thread=3'; did you mean '--threads'? `hone run --help` lists the options
[2]
$ hone run model.onnx --colour
hone: unknown option '--colour'; `hone run --help` lists the options
[2]
$ hone ops Convolution com.microsoft.FastGelu2
hone: hone has no operator 'Convolution'; did you mean 'Conv'? `hone ops` lists them
[1]
$ hone ops conv
hone: hone has no operator 'conv'; did you mean 'Conv'? `hone ops` lists them
[1]
$ hone optimize model.onnx --print-after fuse-convs
hone: --print-after fuse-convs: there is no such pass; `hone passes` lists them
[2]

A wrong value names its option.

$ hone run model.onnx --threads -1
hone: --threads -1: write a whole number, 0 or more, for example 4
[2]
$ hone run model.onnx -t 1.5
hone: --threads 1.5: write a whole number, 0 or more, for example 4
[2]
$ hone run model.onnx --threads 4294967297
hone: --threads 4294967297: write a whole number, 0 or more, for example 4
[2]
$ hone run model.onnx --repeat 1k
hone: --repeat 1k: write a whole number, 0 or more, for example 4
[2]
$ hone run model.onnx --memory 1T
hone: --memory 1T: write a number of bytes, for example 4096, 64k or 1G
[2]
$ hone run model.onnx --memory -1
hone: --memory -1: write a number of bytes, for example 4096, 64k or 1G
[2]
$ hone run model.onnx --timeout soon
hone: --timeout soon: write a number of seconds, for example 2.5
[2]
$ hone run model.onnx --timeout -1
hone: --timeout -1: write a number of seconds, for example 2.5
[2]
$ hone save model.onnx -o x.onnx --external-threshold many
hone: --external-threshold many: write a number of bytes, for example 4096, 64k or 1G
[2]
$ cp $DATA/digits.onnx . && hone run digits.onnx --dim batch=-1
hone: --dim batch=-1: dimension 'batch' cannot be -1: give a size of 0 or more
[1]
$ hone info digits.onnx --shape image=1x-3x8x8
hone: --shape image=1x-3x8x8: input 'image': the shape 1x-3x8x8 does not fit its type float[batch,1,8,8]
[1]
$ hone run digits.onnx --random 1 --outputs out --format csv
hone: --format csv: write npy, npz, pb or json
[2]
$ hone optimize digits.onnx --passes no-ops,fold-constant
hone: --passes fold-constant: there is no such pass; did you mean 'fold-constants'? `hone passes` lists them
[1]
$ hone optimize digits.onnx --disable no-op.identity
hone: --disable no-op.identity: there is no such pass; did you mean 'no-ops'? `hone passes` lists them
[1]
$ hone optimize digits.onnx --precision float16 --block-op Convv
hone: --block-op Convv: there is no such operator; did you mean 'Conv'? `hone ops` lists them
[1]
$ hone optimize digits.onnx --precision float16 --block-node head.convs
hone: --block-node head.convs: there is no such node; did you mean 'head.conv'? `hone info --nodes` lists them
[1]

An instruction set that does not exist.

$ HONE_CPU=avx3 hone ops Relu
hone: HONE_CPU=avx3: there is no such instruction set; it is one of scalar, sse2, sse4.1, avx, avx2, avxvnni, avx512, avx512vbmi, avx512vnni, avx512bf16, avx512fp16, amx, neon, fp16, dotprod, i8mm, bf16, sve
[2]

Parts of a second; of one run, and of one case.

$ printf '<ir_version: 9, opset_import: ["" : 20]> g (int64 n, float[1] x) => (float[1] y) { y = Loop (n, "", x) <body = b (int64 i, bool c, float[1] v) => (bool c2, float[1] v2) <float[1] one = {1}> { c2 = Identity (c) v2 = Add (v, one) }> }' >long.onnxtxt && echo 1000000000000 >n.json && echo '[0]' >x.json
$ hone run long.onnxtxt -i n=n.json -i x=x.json --timeout 0.05
hone: the run was stopped: its deadline has passed
[1]

What takes over a second shows its progress, on a terminal only.

$ $ON_TERMINAL hone run long.onnxtxt -i n=n.json -i x=x.json --timeout 1.5 | sort -u | grep . | sed 's/ [12] s/ N s/'
^[[Khone: the run was stopped: its deadline has passed
running: N s ^[[K
$ hone run long.onnxtxt -i n=n.json -i x=x.json --timeout 1.5
hone: the run was stopped: its deadline has passed
[1]
$ $ON_TERMINAL timeout 3 hone run long.onnxtxt --fill ones --repeat 10000000 | grep -c -m 1 'running .[#.]*. .* of 10000000 runs'
1
$ $ON_TERMINAL timeout 3 hone optimize long.onnxtxt -i n=n.json -i x=x.json | grep -o verifying | sort -u
verifying

Names with escape sequences are shown as text.

$ printf '<ir_version: 9, opset_import: ["" : 20]> g (float[2] "a\x1b[31m\xc2\x9b") => (float[2] "b\\n") { ["n\x1b]0;x\x07"] "b\\n" = Relu ("a\x1b[31m\xc2\x9b") }' >evil.onnxtxt
$ hone info --nodes evil.onnxtxt
evil.onnxtxt
  format      ONNX IR 9, ai.onnx 20
  graph       g: 1 nodes
  parameters  0 in 0 tensors, 0 B
  file        126 B
  work        0 multiply-accumulates, 8 B of activations
~
Inputs
  a\x1b[31m\xc2\x9b  float[2]
~
Outputs
  bn  float[2]
~
Operators
  operator  nodes  MACs  share  activations
  Relu          1                       8 B
~
Nodes
  #  name           operator  output    MACs  activations
  0  n\x1b]0;x\x07  Relu      float[2]                8 B
$ hone run evil.onnxtxt
hone: input 'a\x1b[31m\xc2\x9b', float[2], is missing: give --input a\x1b[31m\xc2\x9b=FILE, --random SEED or --fill zeros (the inputs are a\x1b[31m\xc2\x9b)
[1]
$ hone run evil.onnxtxt --fill ones --profile | grep Relu | cut -c 1-16
  Relu
  n\x1b]0;x\x07
$ sed 's/{ \(.*\) = Relu (\(.*\)) }/{ k = Identity (\2) \1 = Relu (k) }/' evil.onnxtxt >changed.onnxtxt && hone optimize changed.onnxtxt --print-changed | grep float
g (float[2] "a\x1b[31m") => (float[2] bn) {
