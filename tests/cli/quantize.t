$ cp $DATA/digits.onnx .

Static quantization needs samples; without -o nothing is written.

$ hone quantize digits.onnx
hone: static quantization needs samples: --calib PATH (or --mode dynamic, which needs none)
[1]
$ hone quantize digits.onnx --random 1 --dim batch=8
digits.onnx: 9 of 9 nodes quantized, 1 samples
  weights 152 kB to 39.2 kB (25.8 %)
$ hone quantize digits.onnx --calib $DATA/calib.npy -o q.onnx
digits.onnx: 9 of 9 nodes quantized, 100 samples
  weights 152 kB to 39.2 kB (25.8 %)
  file 156 kB to 43.7 kB (28.0 %)
$ hone quantize digits.onnx --calib $DATA/calib.npy --batch 8 | head -1
digits.onnx: 9 of 9 nodes quantized, 100 samples
$ hone check q.onnx
q.onnx: valid
$ hone run q.onnx --input image=$DATA/images.npy > run
$ hone info q.onnx --json | grep -c QuantizeLinear
1
$ hone quantize digits.onnx --random 1 --dim batch=8 --format qoperator -o o.onnx
digits.onnx: 9 of 9 nodes quantized, 1 samples
  weights 152 kB to 39.2 kB (25.8 %)
  file 156 kB to 41.8 kB (26.8 %)
$ hone check o.onnx
o.onnx: valid
$ hone quantize digits.onnx --mode dynamic -o d.onnx
digits.onnx: 5 of 5 nodes quantized
  weights 151 kB to 38.6 kB (25.6 %)
  file 156 kB to 44.5 kB (28.5 %)
$ hone check d.onnx
d.onnx: valid
$ hone quantize digits.onnx --mode weight-only --weights int4 --block 32 -o w.onnx
digits.onnx: 5 of 5 nodes quantized
  weights 151 kB to 24.5 kB (16.2 %)
  file 156 kB to 27.2 kB (17.4 %)
$ hone check w.onnx
w.onnx: valid

Errors of layers, rescue.

$ hone quantize digits.onnx --calib $DATA/calib.npy --limit 64 --explain --equalize --correct-bias > table; grep -c conv table; sed -n 3,4p table
4
  equalized 2 groups of channels: ranges differed by a factor of up to 2.16, now 1.46
  corrected the biases of 5 of 5 layers
$ hone quantize digits.onnx --random 1 --dim batch=64 --keep-sensitive 1 --threads 1
digits.onnx: 5 of 8 nodes quantized, 1 samples
  weights 152 kB to 94.0 kB (62.0 %)
  stayed float       nodes  weights  because
  Add                    1           no quantized node reads its output
  GlobalAveragePool      1           an input of it is float
  Conv                   1  73.7 kB  it is one of the most sensitive layers

Ranges can be kept, edited and used without samples.

$ hone quantize digits.onnx --random 1 --dim batch=8 --calib-cache ranges.json --method minmax > first
$ head -3 ranges.json
{
  "format": "hone calibration",
  "samples": 1,
$ hone quantize digits.onnx --dim batch=8 --calib-cache ranges.json -o c.onnx > second
$ hone quantize digits.onnx --random 1 --dim batch=8 --method minmax -o m.onnx > third; cmp c.onnx m.onnx
$ echo '{"format": "hone calibration", "tensors": [' > ranges.json
$ hone quantize digits.onnx --calib-cache ranges.json
hone: calibration cache 'ranges.json': line 2: a value is missing
[1]
$ echo '{}' > ranges.json
$ hone quantize digits.onnx --calib-cache ranges.json
hone: calibration cache 'ranges.json': this is not a calibration cache of hone
[1]

Options of other tools, and rescue by rounding.

$ hone quantize digits.onnx --calib $DATA/calib.npy --limit 64 --threads 1 --weights int4 --gptq --keep-outliers --restricted-asymmetric --dedicated-pairs --contrib-qdq --no-bias-adjust --float-output Conv --channel-axis Gemm=0 -o x.onnx
digits.onnx: 9 of 9 nodes quantized, 64 samples
  weights 152 kB to 20.3 kB (13.4 %)
  file 156 kB to 25.4 kB (16.3 %)
  kept 0 outlier channels of 0 activations in float, for 0 products
  rounded 5 layers with error feedback: the squared error of their products on the samples is 5.01 times smaller
$ hone check x.onnx
x.onnx: valid
$ hone quantize digits.onnx --calib $DATA/calib.npy --limit 64 --format qoperator --standard-ops --per-tensor --method moving-average --average-constant 0.1 -o y.onnx
digits.onnx: 9 of 9 nodes quantized, 64 samples
  weights 152 kB to 38.5 kB (25.4 %)
  file 156 kB to 41.4 kB (26.5 %)
$ hone check y.onnx
y.onnx: valid
$ hone info y.onnx --json | grep -c com.microsoft
0
[1]
$ hone quantize digits.onnx --random 1 --type 'head.conv=float16' --type '*=int8' -o h.onnx
digits.onnx: 5 of 8 nodes quantized, 1 samples
  weights 152 kB to 94.0 kB (62.0 %)
  file 156 kB to 61.6 kB (39.5 %)
  stayed float       nodes  weights  because
  Add                    1           no quantized node reads its output
  GlobalAveragePool      1           an input of it is float
  Conv                   1  73.7 kB  a choice computes it in half precision
$ hone check h.onnx
h.onnx: valid

What is wrong is said.

$ hone quantize q.onnx --random 1
hone: the model is quantized already; quantize the float model it was made of
[1]
$ hone quantize digits.onnx --calib $DATA/labels.npy -o no.onnx
hone: input 'image' takes float[batch,1,8,8], but the sample has int64[1] (sample '0' of '*'; --max-bad N leaves out up to N)
[1]
$ mkdir empty
$ hone quantize digits.onnx --calib empty -o no.onnx
hone: the folder 'empty' has no images, nor folders with images
[1]
$ hone quantize digits.onnx --calib nowhere -o no.onnx
hone: there is no dataset 'nowhere'
[1]
$ hone quantize digits.onnx --random 1 --method medium
hone: --method medium: there is no such choice; see `hone quantize --help`
[2]
$ hone quantize digits.onnx --random 1 --weights float99
hone: --weights float99: there is no such type
[2]
$ hone quantize digits.onnx --random 1 --weights int64
hone: weights cannot be int64; use int8, uint8, int16, uint16, ...
[1]
$ hone quantize digits.onnx --random 1 --exclude-node nobody
hone: the model has no node 'nobody' to leave out
[1]
$ hone quantize digits.onnx --random 1 --override x
hone: --override x: write TENSOR=WISH
[1]
$ hone quantize digits.onnx --random 1 --override x=wide
hone: --override x: 'wide' is no wish; see `hone quantize --help`
[1]
$ hone quantize digits.onnx --random 1 --override nobody=int8
hone: the model has no tensor 'nobody' to override
[1]
$ hone quantize digits.onnx --random 1 --type nobody=int8
hone: the model has no node 'nobody' to choose a type for
[1]
$ hone quantize digits.onnx --random 1 --channel-axis Conv
hone: --channel-axis Conv: write OP=AXIS
[1]
$ hone quantize digits.onnx --random 1 --average-constant 7
hone: the moving average constant must be above 0, and at most 1
[1]
$ hone quantize digits.onnx --calib-cache none.json --gptq --calib nowhere.npy
hone: there is no dataset 'nowhere.npy'
[1]
$ hone quantize digits.onnx --random 1 -o /dev/full
hone: cannot write '/dev/full': No space left on device
[1]
$ hone quantize digits.onnx --random 1 --type x
hone: --type x: write NODE=TYPE
[1]
$ hone quantize digits.onnx --random 1 -o /nowhere/q.onnx
hone: cannot write '/nowhere/q.onnx': No such file or directory
[1]
$ hone quantize
hone: give one model; see `hone quantize --help`
[2]
$ ls no.onnx
ls: cannot access 'no.onnx': No such file or directory
[2]
