Fewer nodes, and the proof that they compute the same.

$ cp $DATA/digits.onnx . && hone optimize digits.onnx -o fast.onnx
           before   after
  nodes        17      13
  weights  154 kB  152 kB
  file     156 kB  153 kB
~
Operators that changed
  operator            before  after
  BatchNormalization       4      0
$ hone optimize digits.onnx --verify | sed 's/[0-9.e-]* ([0-9.e-]* of/* (* of/'
           before   after
  nodes        17      13
  weights  154 kB  152 kB
~
Operators that changed
  operator            before  after
  BatchNormalization       4      0
verified in 4 runs: outputs differ by at most * (* of the largest element of logits)
$ hone check fast.onnx
fast.onnx: valid
$ hone optimize fast.onnx | head -2
           before   after
  nodes        13      13
$ hone optimize digits.onnx --level none | grep nodes
  nodes        17      17
$ hone optimize digits.onnx --disable fold-affine.batch-norm | grep nodes
  nodes        17      17
$ hone optimize digits.onnx --passes fold-affine --stop-after 1 | grep nodes
  nodes        17      16

What nearly happened is told with its reason.

$ printf '%s' '<ir_version: 10, opset_import: ["" : 17]> g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}, int64[6] p = {0, 0, 1, 0, 0, 1}, float one = {1}> { h = Pad (x, p, one) y = Conv (h, w) }' > pad.onnxtxt
$ hone optimize pad.onnxtxt --explain | grep -A3 'Near misses'
Near misses
  fold-pads.pad-conv at #1 (Conv): the Pad fills with 1, a convolution pads with 0

Levels, passes and targets that do not exist.

$ hone optimize digits.onnx --level most
hone: --level is none, basic, extended or all, not 'most'
[2]
$ hone optimize digits.onnx --passes fold-constant
hone: there is no pass 'fold-constant'; `hone passes` lists them
[1]
$ hone optimize digits.onnx --target phone
hone: --target is onnx or onnxruntime, not 'phone'
[2]
$ hone passes | head -4
  pass                    level     numbers       what it does
  dead-code               basic     exact         nodes, initializers and …aphs that nobody reads go
  fold-constants          basic     exact         nodes that read nothing …nodes become initializers
  constant-branches       basic     exact         If with a constant condi… the branch that is taken
