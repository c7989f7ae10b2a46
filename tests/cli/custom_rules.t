Libraries of rules, see examples/custom_rule.

$ cp $CUSTOM_RULE/blend.onnxtxt . && cp $MY_RULES mine.so && hone optimize --rules mine.so blend.onnxtxt -o fused.onnx | grep nodes
  nodes        10      2

$ hone check --custom-ops $MY_OPS fused.onnx && hone diff --custom-ops $MY_OPS blend.onnxtxt fused.onnx | tail -1
fused.onnx: valid
1 value compared, 0 differ by more than 0.0001 of the largest element

One rule, none, and only these.

$ hone optimize --rules $MY_RULES --disable custom-rules.keep-positive blend.onnxtxt -o part.onnxtxt | grep nodes && grep -c "= my.ops" part.onnxtxt
  nodes        10      4
1

$ hone optimize --rules $MY_RULES --disable custom-rules blend.onnxtxt | grep nodes
  nodes        10      6

$ hone optimize --rules $MY_RULES --passes custom-rules,fold-constants blend.onnxtxt | grep nodes
  nodes        10      2

$ hone optimize --rules $MY_RULES --rules $MY_RULES blend.onnxtxt | grep nodes
  nodes        10      2

$ hone optimize --rules $MY_RULES --level none blend.onnxtxt | grep nodes
  nodes        10     10

Why not.

$ sed 's/0.75/0.5/' blend.onnxtxt > uneven.onnxtxt && hone optimize --rules $MY_RULES uneven.onnxtxt --explain | grep -A 1 "Near misses"
Near misses
  custom-rules.weighted-sum at mix: the weights 0.25 and 0.5 have the sum 0.75, not 1

The operators must be known for a proof.

$ hone optimize --rules $MY_RULES --verify blend.onnxtxt | tail -4
switched off custom-rules.weighted-sum at mix: after it output 0 has another shape or cannot be computed
switched off custom-rules.keep-positive at keep: after it output 0 has another shape or cannot be computed
verified in 9 runs: outputs differ by at most 0 (0 of the largest element of z)
inputs made up: x 3x4, y 3x4

$ hone optimize --rules $MY_OPS blend.onnxtxt
hone: the library '*' has no function hone_register_rules: it is none of rules for hone
[1]
