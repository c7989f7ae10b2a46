Libraries of operators, see examples/custom_op.

$ cp $CUSTOM_OP/gate.onnxtxt . && cp $MY_OPS mine.so && hone check --custom-ops mine.so gate.onnxtxt
gate.onnxtxt: valid

$ hone save --custom-ops $MY_OPS gate.onnxtxt -o gate.onnx --infer && hone check --custom-ops $MY_OPS gate.onnx
gate.onnx: valid

$ hone diff --custom-ops $MY_OPS --dim batch=3 gate.onnxtxt gate.onnx
gate.onnx against gate.onnxtxt
  value  type      max abs  max rel       cosine  SQNR dB
  y      float[6]        0        0  1.000000000      inf
~
1 value compared, 0 differ by more than 0.0001 of the largest element
$ hone info --custom-ops $MY_OPS --dim batch=3 --plan gate.onnx | grep -c Swish
1

What an operator says of its node is told with the node's name.

$ sed 's/weights: floats = .3.0, 1.0./weights: floats = [3.0]/; s/mixed =/[mix] mixed =/' gate.onnxtxt > few.onnxtxt
$ hone run --custom-ops $MY_OPS few.onnxtxt --fill ones
hone: node 'mix' (my.ops.WeightedSum): there must be one weight for each of 2 inputs
[1]

$ sed 's/(gated, scaled)/(gated, half)/; s/mixed =/[mix] mixed =/' gate.onnxtxt > ranks.onnxtxt
$ hone check --custom-ops $MY_OPS ranks.onnxtxt
ranks.onnxtxt: error: node 'mix' (my.ops.WeightedSum): input 1 has rank 0, but input 0 has 2
ranks.onnxtxt: not valid: 1 error, 0 warnings
[1]

$ sed 's/Swish<alpha/Swish<beta/; s/gated =/[gate] gated =/' gate.onnxtxt > beta.onnxtxt
$ hone check --custom-ops $MY_OPS beta.onnxtxt
beta.onnxtxt: error: node 'gate' (my.ops.Swish): Swish-1 has no attribute 'beta'; it has alpha
beta.onnxtxt: not valid: 1 error, 0 warnings
[1]

$ sed 's/Swish/Swich/; s/gated =/[gate] gated =/' gate.onnxtxt > swich.onnxtxt
$ hone check --custom-ops $MY_OPS swich.onnxtxt
swich.onnxtxt: error: node 'gate' (my.ops.Swich): operator set my.ops version 1 has no operator 'Swich'; near: Swish
swich.onnxtxt: not valid: 1 error, 0 warnings
[1]
$ hone run --custom-ops $MY_OPS swich.onnxtxt --fill ones
hone: node 'gate' (my.ops.Swich): operator set my.ops version 1 has no operator 'Swich'; near: Swish; libraries of operators are loaded with --custom-ops
[1]

Nobody knows the operators without their library: a file with them is valid, but cannot be run.

$ hone check gate.onnx
gate.onnx: warning: node #2 (Swish): hone knows no operator set 'my.ops' with an operator 'Swish'; near: ai.onnx.Swish: the node is taken as it is
gate.onnx: warning: node #3 (WeightedSum): hone knows no operator set 'my.ops' with an operator 'WeightedSum': the node is taken as it is
gate.onnx: warning: node #4 (KeepPositive): hone knows no operator set 'my.ops' with an operator 'KeepPositive': the node is taken as it is
gate.onnx: valid

$ hone run gate.onnx --fill ones
hone: node #2 (Swish): hone knows no operator set 'my.ops' with an operator 'Swish'; near: ai.onnx.Swish; libraries of operators are loaded with --custom-ops
[1]

Libraries that are none.

$ hone run --custom-ops nowhere.so gate.onnx --fill ones
hone: cannot load the library 'nowhere.so': *
[1]

$ hone info --custom-ops gate.onnx gate.onnx
hone: cannot load the library 'gate.onnx': *
[1]

$ hone check --custom-ops $MY_OPS --custom-ops $MY_OPS gate.onnx
gate.onnx: error: the library '*' did not register its operators: operator my.ops.Swish cannot be registered: its version 1 is registered already
[1]
