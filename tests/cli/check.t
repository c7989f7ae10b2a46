$ cp $DATA/digits.onnx $MODELS/*.onnxtxt .

$ hone check digits.onnx
digits.onnx: valid

$ hone check --quiet digits.onnx

All problems are listed, each with its node and what would be right.

$ hone check broken.onnxtxt
broken.onnxtxt: error: node 'late' (Neg) reads 'nowhere', which no node computes and no input or initializer defines
broken.onnxtxt: error: node 'act' (Reluu): operator set ai.onnx version 17 has no operator 'Reluu'; near: Relu
broken.onnxtxt: error: node 'soft' (Softmax): Softmax-13 has no attribute 'beta'; it has axis
broken.onnxtxt: error: node 'conv1' (Conv): the input float[N,3,8,8] has 3 channels, but the filter float[4,4,3,3] takes 4 in each of 1 groups
broken.onnxtxt: not valid: 4 errors, 0 warnings
[1]

$ hone check --json broken.onnxtxt | python3 -c "import json,sys; m=json.load(sys.stdin)[0]; print(m['valid'], m['errors'], [p['node'] for p in m['problems']])"
False 4 ['late', 'act', 'soft', 'conv1']

One bad model among good ones decides the exit status.

$ hone check --quiet digits.onnx broken.onnxtxt digits.onnx | tail -1; echo ${PIPESTATUS[0]}
broken.onnxtxt: not valid: 4 errors, 0 warnings
1

One name for two axes of an input: their sizes may differ.

$ printf '<ir_version: 9, opset_import: ["" : 20]> g (float[batch,batch] x, float[n,m] y) => (float[batch,batch] z) { z = Relu (x) }' >twice.onnxtxt
$ hone check twice.onnxtxt
twice.onnxtxt: warning: axes 0 and 1 of input 'x' are both named 'batch'; where their sizes may differ, give them two names
twice.onnxtxt: valid
