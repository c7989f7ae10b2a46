$ cp $DATA/digits.onnx $DATA/images.npy $MODELS/*.onnxtxt .

A model with one input needs no name for it. The time differs from run to run.

$ hone run digits.onnx --input images.npy
digits.onnx
~
Inputs
  image  float[360,1,8,8]
~
Outputs
  name    type     *
  logits  float[360,10] *
~
first run *

Made-up inputs take free dimensions as 1, unless they are fixed.

$ hone run digits.onnx --random 1
digits.onnx
~
Inputs
  image  float[1,1,8,8]
~
Outputs
  name    type     *
  logits  float[1,10] *
~
first run *

$ hone run digits.onnx --fill zeros --dim batch=3 --repeat 2 --threads 1
digits.onnx
~
Inputs
  image  float[3,1,8,8]
~
Outputs
  name    type     *
  logits  float[3,10] *
~
first run *

Classes with their names.

$ printf 'zero\none\ntwo\nthree\nfour\nfive\nsix\n' >labels.txt

$ hone run digits.onnx --random 1 --labels labels.txt --top 3
digits.onnx
~
Inputs
  image  float[1,1,8,8]
~
Outputs
  name    type     *
  logits  float[1,10] *
~
Largest of logits
  row  class *value  label
    0      5  *  five
    0      7  *
    0      9  *
~
first run *

Inputs as JSON, nested or in a row; an input with a default may be given.

$ echo '[[1, 2], [3, 4], [5.5, 6]]' >left.json

$ echo '{"shape": [3, 2], "data": [10, 20, 30, 40, 50, 60]}' >right.json

$ echo '[100]' >shift.json

$ hone run pair.onnxtxt -i left=left.json -i right=right.json -i shift=shift.json --json -o sum=sum.json -o whole=whole.npy -o all.npz | grep -v seconds
{
  "model": "pair.onnxtxt",
  "inputs": [
    {"name": "left", "type": "float[3,2]"},
    {"name": "right", "type": "float[3,2]"},
    {"name": "shift", "type": "int64[1]"}
  ],
  "outputs": [
    {"name": "sum", "type": "float[3,2]", "min": 11, "max": 66, "mean": 38.583333333333336, "nan": 0, "inf": 0},
    {"name": "whole", "type": "int64[3,2]", "min": 111, "max": 166, "mean": 138.5, "nan": 0, "inf": 0}
  ],
  "planned_bytes": 64
}

$ cat sum.json
{"type": "float", "shape": [3, 2], "data": [11, 22, 33, 44, 55.5, 66]}

JSON has no infinite numbers: texts stand for them.

$ echo '[["nan", "-inf"]]' >special.json && hone run pair.onnxtxt -i left=special.json -i right=special.json -o sum=sum2.json | grep sum && cat sum2.json
  sum    float[1,2]           nan           nan           nan    1    1
{"type": "float", "shape": [1, 2], "data": ["nan", "-inf"]}

What was written is read back: .npy, .npz, .pb, raw.

$ hone run pair.onnxtxt -i left=left.json -i right=right.json --outputs out --format pb >/dev/null && ls out
sum.pb
whole.pb

$ hone run pair.onnxtxt -i left=out/sum.pb -i right=sum.json --outputs out --format npz >/dev/null && ls out
outputs.npz
sum.pb
whole.pb

$ head -c 16 /dev/zero >zero.raw && hone run pair.onnxtxt -i left=zero.raw -i right=zero.raw -o sum=zero.json >/dev/null && cat zero.json
{"type": "float", "shape": [2, 2], "data": [0, 0, 0, 0]}

$ hone run pair.onnxtxt -i left=zero.raw -i right=zero.raw -o y.npy
hone: --output y.npy: write NAME=FILE with the name of an output; the model has sum, whole
[1]

Mistakes are named, with what is wanted.

$ hone run
hone: give one model; see `hone run --help`
[2]

$ hone run digits.onnx
hone: input 'image', float[batch,1,8,8], is missing: give --input image=FILE, --random SEED or --fill zeros (the inputs are image)
[1]

$ hone run pair.onnxtxt -i left=left.json
hone: input 'right', float[n,2], is missing: give --input right=FILE, --random SEED or --fill zeros (the inputs are left, right)
[1]

$ hone run digits.onnx --input picture=images.npy
hone: --input picture=images.npy: write NAME=FILE with the name of an input; the model has image
[1]

$ hone run digits.onnx --input nothing.npy
hone: cannot open 'nothing.npy': No such file or directory
[1]

$ hone run digits.onnx --input labels.txt
hone: 'labels.txt' is no .npy, .npz, .pb, .json or image file; elements alone are read from .raw and .bin files
[1]

$ hone run digits.onnx --input left.json
hone: input 'image' is float[3,2], but the model takes float[batch,1,8,8]
[1]

$ hone run pair.onnxtxt -i left=left.json -i right=whole.npy
hone: input 'right' is int64[3,2], but the model takes float[n,2]
[1]

$ hone run pair.onnxtxt -i left=left.json -i right=zero.raw
hone: node #0 (Add): shapes do not broadcast: [3,2] against [2,2] differ at dimension 0 (3 and 2), and neither is 1
[1]

$ echo '[[1, 2], [3]]' >ragged.json && hone run pair.onnxtxt -i left=ragged.json -i right=right.json
hone: 'ragged.json', byte 12: rows of different length
[1]

$ echo '[[1, "two"]]' >text.json && hone run pair.onnxtxt -i left=text.json -i right=right.json
hone: 'text.json': element 1 is the text "two" instead of a number
[1]

$ head -c 90 images.npy >cut.npy && hone run digits.onnx -i cut.npy
hone: 'cut.npy': the .npy header is damaged
[1]

$ hone run digits.onnx --random x
hone: --random x: write a seed, for example --random 1
[1]

$ hone run digits.onnx --fill twos
hone: --fill twos: write zeros or ones
[1]

$ hone run digits.onnx --random 1 --output scores=y.npy
hone: --output scores=y.npy: write NAME=FILE with the name of an output; the model has logits
[1]

$ hone run digits.onnx --random 1 --output y.xyz
hone: 'y.xyz': the name of an output file ends in .npy, .npz, .pb or .json
[1]

$ hone run digits.onnx --random 1 --memory 1k
hone: the run needs 24576 bytes for intermediate values at its peak, but the limit is 1024; the largest is made by node 'stem.relu' (hone.NchwConv)
[1]

$ hone run digits.onnx --random 1 --outputs out --format csv
hone: --format csv: write npy, npz, pb or json
[2]

Test data sets: a model with its inputs and what must come out.

$ mkdir -p cases/good/test_data_set_0 && hone save pair.onnxtxt -o cases/good/model.onnx

$ (cd cases/good/test_data_set_0 && hone run ../model.onnx --random 1 --outputs . --format pb >/dev/null && mv sum.pb output_0.pb && mv whole.pb output_1.pb)

$ printf '\010\001\010\002\020\001\112\010\0\0\200\077\0\0\0\100' >cases/good/test_data_set_0/input_0.pb

$ cp cases/good/test_data_set_0/input_0.pb cases/good/test_data_set_0/input_1.pb

$ hone run --test cases
FAIL good: output 'sum': 2 instead of -0.884483337 at [0,0]; 2 of 2 elements differ
1 case: 0 passed, 1 failed
[1]

$ hone run cases/good/model.onnx -i left=cases/good/test_data_set_0/input_0.pb -i right=cases/good/test_data_set_0/input_0.pb --outputs out --format pb >/dev/null && cp out/sum.pb cases/good/test_data_set_0/output_0.pb && cp out/whole.pb cases/good/test_data_set_0/output_1.pb && hone run --test cases
1 case: 1 passed, 0 failed

$ cp -r cases/good cases/bad && cp out/whole.pb cases/bad/test_data_set_0/output_0.pb

$ hone run --test --jobs 2 cases
FAIL bad: output 'sum': float[1,2] instead of int64[1,2]
2 cases: 1 passed, 1 failed
[1]

$ echo 'bad: on purpose' >manifest.txt && hone run --test --manifest manifest.txt cases
2 cases: 1 passed, 0 failed, 1 known to fail

$ echo 'good: on purpose' >manifest.txt && hone run --test --manifest manifest.txt cases/good
PASS good: the manifest lists it as a known failure: on purpose
1 case: 1 passed, 0 failed, 1 to be removed from the manifest
[1]

$ hone run --test --json cases | sed 's/"seconds": [0-9.e-]*/"seconds": */'
[
  {"name": "bad", "model": "cases/bad/model.onnx", "verdict": "failed", "seconds": *, "message": "output 'sum': float[1,2] instead of int64[1,2]"},
  {"name": "good", "model": "cases/good/model.onnx", "verdict": "passed", "seconds": *}
]

$ echo 'good' >manifest.txt && hone run --test --manifest manifest.txt cases
hone: manifest.txt:1: write 'NAME: reason' or 'NAME rtol=1e-2: reason'
[1]

$ hone run --test out
hone: no test cases found: a case is a folder with a model and test_data_set_0
[1]

Where the time goes; who runs the nodes.

$ hone run digits.onnx --random 1 --repeat 2 --profile --level none | grep -E '^  (operator|Conv|Relu) ' | sed 's/  *[0-9.]* *[0-9.]* %.*//' | sort
  Conv                    4
  Relu                    4
  operator            nodes  ms per run   share  GFLOP/s
$ hone run digits.onnx --random 1 --profile --json --level none | grep -c '"op": "Conv", "nodes": 4'
1
$ hone run digits.onnx --random 1 --provider cpu --keep-denormals | grep -c logits
1
$ hone run digits.onnx --random 1 --provider gpu
hone: there is no provider 'gpu'; this build has: cpu
[1]

Weights are laid out once for all processes; a file that cannot be used is told and replaced.

$ hone run digits.onnx --random 1 --cache kept > first && hone run digits.onnx --random 1 --cache kept > again
$ ls kept | sed 's/-[0-9a-f]*/-HASH/'
digits-HASH.hone
$ echo damage > kept/$(ls kept)
$ hone run digits.onnx --random 1 --cache kept > third
* warning: the cache 'kept/digits-*.hone' is not used: it is no cache of hone
$ hone run digits.onnx --random 1 --cache kept > fourth

Weights may be kept in halves.

$ hone run digits.onnx --random 1 --weights float16 | grep -c logits
1
$ hone run digits.onnx --random 1 --weights int8
hone: --weights is float16 or bfloat16, not 'int8'
[2]

What a processor cannot compute in is refused.

$ HONE_CPU=avx2 hone run digits.onnx --random 1 --compute bfloat16
hone: this processor has no instructions for bfloat16 (AVX512-BF16, AMX), or HONE_CPU does not admit them; use float32
[1]
$ hone run digits.onnx --random 1 --compute float32 | grep -c logits
1

A disk without room leaves no empty file, and no temporary one.

$ mkdir full; (ulimit -f 0; trap '' XFSZ; hone run digits.onnx --random 1 --outputs full 2>&1 > /dev/null); ls -A full
hone: cannot write 'full/logits.npy': File too large
$ hone run digits.onnx --random 1 --copy --outputs full > /dev/null && ls -A full
logits.npy

A profile names the nodes of the model, also those of a fused step; without names, their first outputs.

$ hone run digits.onnx --random 1 --profile --json | grep -o '"name": "[^"]* + [^"]*"' | sort
"name": "block.conv1 + block.bn1 + block.relu1"
"name": "block.conv2 + block.bn2 + block.add + block.relu2"
"name": "head.conv + head.bn + head.relu"
"name": "stem.conv + stem.bn + stem.relu"
$ hone save digits.onnx -o nameless.onnx --strip=names && hone run nameless.onnx --random 1 --profile --json | grep -o '"name": "head.[^"]*"' | sort
"name": "head.conv.out + head.bn.out + head.relu.out"
"name": "head.mean.flatten.out"
"name": "head.mean.out"

A long list of nodes is shown by its last one and their number in the table, not in JSON.

$ cat > fused.onnxtxt <<< '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> { [a_long_name_of_a_convolution_in_a_block_of_a_model] c = Conv (x, w) [its_long_named_activation_function] y = Relu (c) }'
$ hone run fused.onnxtxt --random 1 --profile | grep -o 'its_long.* nodes)'
its_long_named_activa…on_function (2 nodes)
$ hone run fused.onnxtxt --random 1 --profile --json | grep -o '"name": "a_long[^"]*"'
"name": "a_long_name_of_a_convolution_in_a_block_of_a_model + its_long_named_activation_function"

A name that stands for two sizes is told once, and not relied on.

$ printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[batch,batch] x, float[1] o) => (float[n] y) <int64 i = {0}, int64 j = {1}, int64[1] a = {0}> { s = Shape (x) p = Gather (s, i) q = Gather (s, j) u = Unsqueeze (p, a) v = Unsqueeze (q, a) e = Expand (o, u) f = Expand (o, v) y = Concat <axis = 0> (e, f) }\n' > lie.onnxtxt && echo '[[1, 1, 1]]' > x.json && echo '[1]' > o.json
$ hone run lie.onnxtxt -i x=x.json -i o=o.json --repeat 2 | grep " y "
hone: warning: dimension 'batch' is 1 and 3 in one run: the name does not mean one size, and is not relied on any more
  y     float[4]    1    1     1    0    0
