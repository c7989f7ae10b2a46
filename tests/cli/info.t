$ cp $DATA/digits.onnx $MODELS/*.onnxtxt .

A model in one page.

$ hone info digits.onnx
digits.onnx
  producer    hone-digits
  format      ONNX IR 8, ai.onnx 17
  graph       digits: 17 nodes
  parameters  38,442 in 22 tensors, 154 kB
  file        156 kB
~
Inputs
  image  float[batch,1,8,8]
~
Outputs
  logits  float[batch,10]
~
Parameters
  type   tensors  elements   bytes
  float       22    38,442  154 kB
~
Operators
  operator            nodes
  BatchNormalization      4
  Conv                    4
  Relu                    4
  Add                     1
  Flatten                 1
  Gemm                    1
  GlobalAveragePool       1
  MaxPool                 1
~
17 nodes have symbolic dimensions: add --dim batch=1 to count operations

With the free dimension fixed, operations are counted.

$ hone info --dim batch=16 --nodes --weights digits.onnx
digits.onnx
  producer    hone-digits
  format      ONNX IR 8, ai.onnx 17
  graph       digits: 17 nodes
  parameters  38,442 in 22 tensors, 154 kB
  file        156 kB
  work        23.9 M multiply-accumulates, 1.55 MB of activations
~
Inputs
  image  float[16,1,8,8]
~
Outputs
  logits  float[16,10]
~
Parameters
  type   tensors  elements   bytes
  float       22    38,442  154 kB
~
Operators
  operator            nodes    MACs    share  activations
  BatchNormalization      4                        459 kB
  Conv                    4  23.9 M  100.0 %       459 kB
  Relu                    4                        459 kB
  Add                     1                        131 kB
  Flatten                 1                       4.10 kB
  Gemm                    1  10.2 k    0.0 %        640 B
  GlobalAveragePool       1                       4.10 kB
  MaxPool                 1                       32.8 kB
~
Nodes
   #  name               operator            output              MACs  activations
   0  stem.conv          Conv                float[16,32,8,8]   295 k       131 kB
   1  stem.bn            BatchNormalization  float[16,32,8,8]               131 kB
   2  stem.relu          Relu                float[16,32,8,8]               131 kB
   3  block.conv1        Conv                float[16,32,8,8]  9.44 M       131 kB
   4  block.bn1          BatchNormalization  float[16,32,8,8]               131 kB
   5  block.relu1        Relu                float[16,32,8,8]               131 kB
   6  block.conv2        Conv                float[16,32,8,8]  9.44 M       131 kB
   7  block.bn2          BatchNormalization  float[16,32,8,8]               131 kB
   8  block.add          Add                 float[16,32,8,8]               131 kB
   9  block.relu2        Relu                float[16,32,8,8]               131 kB
  10  pool               MaxPool             float[16,32,4,4]              32.8 kB
  11  head.conv          Conv                float[16,64,4,4]  4.72 M      65.5 kB
  12  head.bn            BatchNormalization  float[16,64,4,4]              65.5 kB
  13  head.relu          Relu                float[16,64,4,4]              65.5 kB
  14  head.mean          GlobalAveragePool   float[16,64,1,1]              4.10 kB
  15  head.mean.flatten  Flatten             float[16,64]                  4.10 kB
  16  classify           Gemm                float[16,10]      10.2 k        640 B
~
Weights
  name                type              elements    bytes  stored in
  stem.conv.weight    float[32,1,3,3]        288  1.15 kB  model
  stem.bn.scale       float[32]               32    128 B  model
  stem.bn.bias        float[32]               32    128 B  model
  stem.bn.mean        float[32]               32    128 B  model
  stem.bn.var         float[32]               32    128 B  model
  block.conv1.weight  float[32,32,3,3]     9,216  36.9 kB  model
  block.bn1.scale     float[32]               32    128 B  model
  block.bn1.bias      float[32]               32    128 B  model
  block.bn1.mean      float[32]               32    128 B  model
  block.bn1.var       float[32]               32    128 B  model
  block.conv2.weight  float[32,32,3,3]     9,216  36.9 kB  model
  block.bn2.scale     float[32]               32    128 B  model
  block.bn2.bias      float[32]               32    128 B  model
  block.bn2.mean      float[32]               32    128 B  model
  block.bn2.var       float[32]               32    128 B  model
  head.conv.weight    float[64,32,3,3]    18,432  73.7 kB  model
  head.bn.scale       float[64]               64    256 B  model
  head.bn.bias        float[64]               64    256 B  model
  head.bn.mean        float[64]               64    256 B  model
  head.bn.var         float[64]               64    256 B  model
  classify.weight     float[10,64]           640  2.56 kB  model
  classify.bias       float[10]               10     40 B  model

$ hone info --shape image=2x1x8x8 digits.onnx | grep -E "work|image|logits"
  work        2.99 M multiply-accumulates, 194 kB of activations
  image  float[2,1,8,8]
  logits  float[2,10]

The textual syntax, functions and subgraphs.

$ hone info --text branch.onnxtxt
<
   ir_version: 8,
   opset_import: ["" : 18, "local" : 1]
>
branch (float[batch,seq,8] x, bool flag) => (float[batch,rows,8] y) {
   [twice] d = local.double (x)
   [pick] c = If (flag) <then_branch: graph = small () => (float[batch,n,8] t) {
      t = Concat <axis: int = 1> (d, x)
   }, else_branch: graph = large () => (float[batch,n,8] e) {
      e = Identity (d)
   }>
   [shape] s = Shape (c)
   [again] y = Reshape (c, s)
}
~
<
   domain: "local",
   opset_import: ["" : 18]
>
"double" (a) => (b) {
   b = Add (a, a)
}

$ hone info --values branch.onnxtxt
branch.onnxtxt
  format      ONNX IR 8, ai.onnx 18, local 1
  graph       branch: 6 nodes, 1 function, 2 subgraphs
  parameters  0 in 0 tensors, 0 B
  file        485 B
~
Inputs
  x     float[batch,seq,8]
  flag  bool
~
Outputs
  y  float[batch,rows,8]
~
Operators
  operator      nodes
  Concat            1
  Identity          1
  If                1
  Reshape           1
  Shape             1
  local.double      1
~
Values
  #  name  type
  0  x     float[batch,seq,8]
  1  flag  bool
  2  d     float[batch,seq,8]
  3  t     float[batch,2*seq,8]
  4  e     float[batch,seq,8]
  5  c     float[batch,?,8]
  6  s     int64[3]
  7  y     float[batch,rows,8]
~
5 nodes have symbolic dimensions: add --dim batch=1 --dim seq=1 to count operations

For programs.

$ hone info --json --nodes branch.onnxtxt | python3 -c "import json,sys; m=json.load(sys.stdin); print(m['opsets'], m['inputs'], [n['op'] for n in m['nodes']])"
{'ai.onnx': 18, 'local': 1} [{'name': 'x', 'type': 'tensor', 'elem_type': 'float', 'shape': ['batch', 'seq', 8]}, {'name': 'flag', 'type': 'tensor', 'elem_type': 'bool', 'shape': []}] ['double', 'If', 'Shape', 'Reshape', 'Concat', 'Identity']

Wrong dimensions are refused, with what there is.

$ hone info --dim bach=1 digits.onnx
hone: --dim bach=1: the model has no symbolic dimension 'bach'; it has batch
[1]

$ hone info --dim batch=-1 digits.onnx
hone: --dim batch=-1: dimension 'batch' cannot be -1: give a size of 0 or more
[1]

$ hone info --dim batch digits.onnx
hone: --dim batch: write NAME=SIZE, for example --dim batch=4
[1]

$ hone info --shape image=1x3x8x8 digits.onnx
hone: --shape image=1x3x8x8: input 'image': the shape 1x3x8x8 does not fit its type float[batch,1,8,8]
[1]

$ hone info --shape picture=1x3x8x8 digits.onnx
hone: --shape picture=1x3x8x8: the model has no input 'picture'; it has image
[1]

Memory of a run is known before it.

$ hone info --dim batch=16 --plan digits.onnx | sed '1,/^Memory/d'
  weights                          152 kB
  inputs                           4.10 kB
  outputs                          640 B
  intermediate values at the peak  393 kB
  nodes                            8 on cpu
  of them copy nothing             1
~
live at the peak, at node 'block.relu2' (hone.Conv)
  value            bytes
  stem.relu_17    131 kB
  block.relu1_18  131 kB
  block.relu2_19  131 kB

Who runs each node.

$ hone info --dim batch=16 --plan --nodes digits.onnx | sed '1,/^Placement/d'
  node               operator                provider  memory
  stem.relu          hone.NchwConv           cpu       planned
  block.relu1        hone.Conv               cpu       planned
  block.relu2        hone.Conv               cpu       planned
  pool               hone.MaxPool            cpu       planned
  head.relu          hone.Conv               cpu       planned
  head.mean          hone.GlobalAveragePool  cpu       planned
  head.mean.flatten  Reshape                 cpu       view
  classify           Gemm                    cpu       planned
$ hone info --dim batch=16 --plan --json digits.onnx | grep -c '"provider": "cpu"'
8
$ hone info --plan digits.onnx 2>&1 | grep memory
hone: memory can be planned for exact shapes only: fix the free dimensions of input 'image'
