$ cp $DATA/digits.onnx $DATA/images.npy $MODELS/*.onnxtxt .

$ hone save digits.onnx -o other.onnx --strip

$ hone diff digits.onnx other.onnx -i images.npy
other.onnx against digits.onnx
  value   type           max abs  max rel       cosine  SQNR dB
  logits  float[360,10]        0        0  1.000000000      inf
~
1 value compared, 0 differ by more than 0.0001 of the largest element

Every value that has the same name on both sides.

$ sed 's/Add (left, right)/Mul (left, right)/' pair.onnxtxt >product.onnxtxt

$ echo '[[2, 2], [2, 3]]' >two.json

$ hone diff --all pair.onnxtxt product.onnxtxt -i left=two.json -i right=two.json
product.onnxtxt against pair.onnxtxt
  value  type        max abs  max rel       cosine  SQNR dB
  sum    float[2,2]        3      0.5  0.979863710      9.7  differs
  cast   int64[2,2]        3      0.5  0.979863710      9.7  differs
  whole  int64[2,2]        3    0.429  0.984324138     11.4  differs
~
3 values compared, 3 differ by more than 0.0001 of the largest element
first: 'sum': 9 instead of 6 at [1,1]
[1]

$ hone diff --all --limit 0.5 pair.onnxtxt product.onnxtxt -i left=two.json -i right=two.json
product.onnxtxt against pair.onnxtxt
  value  type        max abs  max rel       cosine  SQNR dB
  sum    float[2,2]        3      0.5  0.979863710      9.7
  cast   int64[2,2]        3      0.5  0.979863710      9.7
  whole  int64[2,2]        3    0.429  0.984324138     11.4
~
3 values compared, 0 differ by more than 0.5 of the largest element

$ hone diff --json pair.onnxtxt product.onnxtxt -i left=two.json -i right=two.json
{
  "a": "pair.onnxtxt",
  "b": "product.onnxtxt",
  "limit": 0.0001,
  "compared": 2,
  "different": 2,
  "first": "sum",
  "values": [
    {"name": "sum", "type": "float[2,2]", "equal": false, "different": 1, "max_abs": 3, "max_rel": 0.5, "cosine": 0.9798637100971995, "sqnr_db": 9.700367766225568, "problem": "9 instead of 6 at [1,1]"},
    {"name": "whole", "type": "int64[2,2]", "equal": false, "different": 1, "max_abs": 3, "max_rel": 0.42857142857142855, "cosine": 0.9843241382880896, "sqnr_db": 11.391791757229102, "problem": "10 instead of 7 at [1,1]"}
  ]
}
[1]

Against saved outputs.

$ hone run pair.onnxtxt -i left=two.json -i right=two.json -o saved.npz >/dev/null

$ hone diff pair.onnxtxt saved.npz -i left=two.json -i right=two.json
saved.npz against pair.onnxtxt
  value  type        max abs  max rel       cosine  SQNR dB
  sum    float[2,2]        0        0  1.000000000      inf
  whole  int64[2,2]        0        0  1.000000000      inf
~
2 values compared, 0 differ by more than 0.0001 of the largest element

$ hone run digits.onnx --random 0 -o logits.npy >/dev/null && hone diff digits.onnx logits.npy
logits.npy against digits.onnx
  value   type         max abs  max rel       cosine  SQNR dB
  logits  float[1,10]        0        0  1.000000000      inf
~
1 value compared, 0 differ by more than 0.0001 of the largest element

$ hone diff digits.onnx logits.npy --random 1 | tail -1
first: 'logits': * at [0,0]

$ hone diff pair.onnxtxt digits.onnx
hone: the model has no input 'left'; it has image
[1]

$ hone diff pair.onnxtxt two.json
hone: 'two.json': the model has 2 outputs; save them with `hone run --output FILE.npz`
[1]

$ hone diff digits.onnx
hone: give a model and what to compare it with; see `hone diff --help`
[2]

$ hone diff digits.onnx other.onnx --limit much
hone: --limit much: write a number, for example 1e-3
[1]

A model in half precision: inputs are converted, outputs compared as numbers.

$ hone optimize digits.onnx --precision float16 -o half.onnx >/dev/null && hone diff digits.onnx half.onnx --limit 1e-2 | grep -v -e logits
half.onnx against digits.onnx
  value   type         max abs  max rel       cosine  SQNR dB
~
1 value compared, 0 differ by more than 0.01 of the largest element
$ hone diff half.onnx digits.onnx --limit 1e-2 --json | grep equal | cut -c 1-60
    {"name": "logits", "type": "float16[1,10]", "equal": tru
$ hone diff half.onnx digits.onnx --limit 0 | tail -n 2 | head -n 1
1 value compared, 1 differs by more than 0 of the largest element
