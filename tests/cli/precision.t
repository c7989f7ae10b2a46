Numbers in 16 bits.

$ hone optimize $DATA/digits.onnx -o half.onnx --precision float16 --level none > report
$ hone info half.onnx | grep 16
  image  float16[batch,1,8,8]
  logits  float16[batch,10]
  float16       22    38,442  76.9 kB
$ hone optimize $DATA/digits.onnx -o inside.onnx --precision float16 --keep-io --level none | tail -1
  Cast           0      2
$ hone diff --limit 0.01 $DATA/digits.onnx inside.onnx | tail -1
1 value compared, 0 differ by more than 0.01 of the largest element
$ hone optimize $DATA/digits.onnx --precision float16 --keep-io --block-op Gemm --level none | tail -1
  Cast           0      2
$ hone optimize $DATA/digits.onnx --precision float17
hone: --precision is float16 or bfloat16, not 'float17'
[2]
$ hone optimize $DATA/digits.onnx --keep-io
hone: --keep-io, --block-op and --block-node need --precision
[2]

Another opset.

$ hone optimize $DATA/digits.onnx --level none --opset 9 -o nine.onnx > report
$ hone info nine.onnx | grep format
  format      ONNX IR 8, ai.onnx 9
$ hone diff $DATA/digits.onnx nine.onnx | tail -1
1 value compared, 0 differ by more than 0.0001 of the largest element
$ hone optimize $DATA/digits.onnx --opset 99
hone: opset 99 does not exist; hone supports 1 to 28
[1]
