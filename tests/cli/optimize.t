Optimizing: what comes out, what is told, what is refused.

$ cp $MODELS/gelu.onnxtxt . && hone optimize gelu.onnxtxt -o out.onnxtxt && cat out.onnxtxt
           before  after
  nodes         7      2
  weights    28 B   16 B
  file      370 B  179 B
~
Operators that changed
  operator  before  after
  Add            2      1
  Mul            2      0
  Div            1      0
  Erf            1      0
  Identity       1      0
  Gelu           0      1
<
   ir_version: 8,
   opset_import: ["" : 20]
>
gelu (float[batch,4] x) => (float[batch,4] y)
<
   float[4] b = {1, 2, 3, 4}
> {
   [bias] a = Add (x, b)
   [erf] y = Gelu (a)
}

$ hone optimize gelu.onnxtxt --target onnxruntime -o out.onnx && hone check out.onnx && hone diff gelu.onnxtxt out.onnx --dim batch=2 | tail -1
           before  after
  nodes         7      1
  weights    28 B   16 B
  file      370 B  155 B
~
Operators that changed
  operator                before  after
  Add                          2      0
  Mul                          2      0
  Div                          1      0
  Erf                          1      0
  Identity                     1      0
  com.microsoft.BiasGelu       0      1
out.onnx: valid
1 value compared, 0 differ by more than 0.0001 of the largest element

$ hone optimize gelu.onnxtxt --level basic
           before  after
  nodes         7      6
  weights    28 B   28 B
~
Operators that changed
  operator  before  after
  Identity       1      0

$ hone optimize gelu.onnxtxt --level none
           before  after
  nodes         7      7
  weights    28 B   28 B

Which passes run.

$ hone optimize gelu.onnxtxt --passes activations -o out.onnxtxt | grep nodes && grep -c Identity out.onnxtxt
  nodes         7      3
1

$ hone optimize gelu.onnxtxt --passes no-ops,activations --disable activations.gelu-erf | grep nodes
  nodes         7      6

$ hone optimize gelu.onnxtxt --disable no-ops --disable activations | grep nodes
  nodes         7      7

$ hone optimize gelu.onnxtxt --stop-after 1 | grep nodes
  nodes         7      6

$ hone optimize gelu.onnxtxt --stop-after 0
           before  after
  nodes         7      7
  weights    28 B   28 B

$ hone optimize gelu.onnxtxt --passes no-such-pass
hone: --passes no-such-pass: there is no such pass; `hone passes` lists them
[1]

$ hone optimize gelu.onnxtxt --passes no-ops,,activations
hone: --passes : there is no such pass; `hone passes` lists them
[1]

$ hone optimize gelu.onnxtxt --disable nothing.rule
hone: --disable nothing.rule: there is no such pass; `hone passes` lists them
[1]

On the way, and afterwards.

$ hone optimize gelu.onnxtxt --print-after activations | head -12
// after activations: 1 rewrite
<
   ir_version: 8,
   opset_import: ["" : 20]
>
gelu (float[batch,4] x) => (float[batch,4] y)
<
   float half = {0.5},
   float one = {1},
   float root = {1.4142135},
   float[4] b = {1, 2, 3, 4}
> {

$ hone optimize gelu.onnxtxt --print-changed | grep "^// after"
// after no-ops: 1 rewrite
// after activations: 1 rewrite
// after dead-code

$ hone optimize gelu.onnxtxt --explain | grep -A 100 Rewrites
Rewrites
  rule                  times  first at       what
  no-ops.identity           1  #0 (Identity)
  activations.gelu-erf      1  erf

$ sed 's/: 20/: 17/' gelu.onnxtxt > old.onnxtxt && hone optimize old.onnxtxt --explain | grep -A 100 "Near misses"
Near misses
  activations.gelu-erf at erf: Gelu is an operator of opset 20, the model has opset 17

$ hone optimize old.onnxtxt --opset 20 | head -8
           before  after
  nodes         7      2
  weights    28 B   16 B
  opset        17     20
~
Operators that changed
  operator  before  after
  Add            2      1

$ hone optimize old.onnxtxt --verify
           before  after
  nodes         7      6
  weights    28 B   28 B
~
Operators that changed
  operator  before  after
  Identity       1      0
verified in 3 runs: outputs differ by at most 0 (0 of the largest element of y)
inputs made up: x 2x4

$ hone optimize gelu.onnxtxt --random 7 --dim batch=2 | tail -1
verified in 5 runs: outputs differ by at most * (* of the largest element of y)

The report for programs.

$ hone optimize gelu.onnxtxt --json --verify > report.json
$ python3 -c "import json; r = json.load(open('report.json')); print(*r); print(*r['passes'][0]); print(*r['rewrites'][-1]); print(*r['verification'])"
model opset_before opset_after stopped passes rewrites near_misses switched_off verification
pass runs rewrites nodes_saved weight_bytes_saved macs_saved seconds
pass rule node detail nodes_removed nodes_added
runs max_difference max_relative made_up_inputs

$ python3 -c "import json; r = json.load(open('report.json')); w = r['rewrites'][-1]; print(w['pass'], w['rule'], w['nodes_removed'], w['nodes_added'], r['switched_off'], r['stopped'], r['opset_before'])"
activations gelu-erf 5 1 [] False 20

$ hone optimize old.onnxtxt --json | python3 -c "import json, sys; m = json.load(sys.stdin)['near_misses'][0]; print(*m); print(m['rule'], m['node'])"
pass rule node reason
gelu-erf erf

What is refused.

$ hone optimize
hone: give one model; see `hone optimize --help`
[2]

$ hone optimize gelu.onnxtxt gelu.onnxtxt
hone: give one model; see `hone optimize --help`
[2]

$ hone optimize nowhere.onnx
hone: cannot open 'nowhere.onnx': No such file or directory
[1]

$ hone optimize gelu.onnxtxt --level fast
hone: --level is none, basic, extended or all, not 'fast'
[2]

$ hone optimize gelu.onnxtxt --target tensorflow
hone: --target is onnx or onnxruntime, not 'tensorflow'
[2]

$ hone optimize gelu.onnxtxt --opset 99
hone: opset 99 does not exist; hone supports 1 to 28
[1]

$ hone optimize gelu.onnxtxt --opset seventeen
hone: --opset seventeen: write a number
[2]

$ hone optimize gelu.onnxtxt --stop-after -1
hone: --stop-after -1: write a number
[2]

$ hone optimize gelu.onnxtxt --stop-after 99999999999999999999
hone: --stop-after 99999999999999999999: write a number
[2]

$ hone optimize gelu.onnxtxt --print-after nothing
hone: --print-after nothing: there is no such pass; `hone passes` lists them
[2]

$ hone optimize gelu.onnxtxt --rules nowhere.so
hone: cannot load the library 'nowhere.so': *
[1]

$ hone optimize gelu.onnxtxt --rules gelu.onnxtxt
hone: cannot load the library 'gelu.onnxtxt': *
[1]

$ hone optimize gelu.onnxtxt -o nowhere/out.onnx
hone: cannot write 'nowhere/out.onnx': No such file or directory
[1]

$ hone passes extra
hone: `hone passes` takes no arguments
[2]

The table of passes.

$ hone passes | head -3
  pass                    level     numbers       what it does
  dead-code               basic     exact         nodes, initializers and …aphs that nobody reads go
  fold-constants          basic     exact         nodes that read nothing …nodes become initializers

$ hone passes --json | python3 -c "import json, sys; p = json.load(sys.stdin); print(len(p) > 40, *p[0]); print({q['level'] for q in p} <= {'basic', 'extended', 'all'})"
True name level numerics summary
True

Equal names of dimensions of inputs are no equal sizes in a file, unless they are trusted; a verification finds names that lie.

$ printf '<ir_version: 10, opset_import: ["" : 17]>\ng (float[b,s] x, float[b,s] z, float[1,1] o) => (float[b,s] y, float[b,s] w) { e = Exp (x) f = Exp (z) i = Shape (e) y = Expand (o, i) k = Shape (f) w = Expand (o, k) }\n' > names.onnxtxt && hone optimize names.onnxtxt | grep nodes; hone optimize --trust-names names.onnxtxt | grep nodes
  nodes         6      4
  nodes         6      3
$ hone optimize --trust-names --verify names.onnxtxt | tail -3
switched off share-sizes.same-sizes at #4 (Shape): after it output 1 has another shape or cannot be computed
verified in 7 runs: outputs differ by at most 0 (0 of the largest element of y)
inputs made up: x 2x3, z 4x6, o 1x1
$ hone optimize --verify --timeout 600.5 --memory 1M names.onnxtxt | tail -2
verified in 3 runs: outputs differ by at most 0 (0 of the largest element of y)
inputs made up: x 2x3, z 4x6, o 1x1
$ hone optimize --explain names.onnxtxt | tail -1
  --trust-names would save 1 more node: inputs share names of dimensions
$ hone optimize --explain --trust-names names.onnxtxt | grep -c trust-names
0
[1]
