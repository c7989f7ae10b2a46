$ cp $MODELS/p*.onnxtxt . && cp $DATA/digits.onnx . && printf 'P6 1 2 255\nabcdef' >a.ppm && printf 'P6 1 2 255\nghijkl' >b.ppm && printf 'P6 1 1 255\nabc' >small.ppm
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] image) => (float[n,3,h,w] y) { y = Identity (image) }' >free.onnxtxt

Images for one input make a batch; anything else given twice is an error.

$ hone run free.onnxtxt -i a.ppm -i image=b.ppm --scale 1 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [2, 3, 2, 1], "data": [97, 100, 98, 101, 99, 102, 103, 106, 104, 107, 105, 108]}
$ hone run picture.onnxtxt -i a.ppm -i b.ppm
hone: input 'image' is float[2,3,2,1], but the model takes float[1,3,h,w]
[1]
$ hone run free.onnxtxt -i a.ppm -i small.ppm
hone: the samples of a batch have different sizes: float[1,3,2,1] and float[1,3,1,1]; images need --resize HEIGHTxWIDTH
[1]
$ hone run free.onnxtxt -i y.json -i a.ppm
hone: input 'image' is given twice: by 'y.json' and 'a.ppm'; only images make a batch
[1]
$ hone run free.onnxtxt -i y.json -i image=y.json
hone: input 'image' is given twice: by 'y.json' and 'y.json'; only images make a batch
[1]
$ hone run free.onnxtxt -i a.ppm --std 1,0,1
hone: --std 1,0,1: pixels are divided by it, so it cannot be 0
[1]

Arrays of an archive are inputs by their names.

$ echo '[[1,2]]' >two.json && hone run pair.onnxtxt -i left=two.json -i right=two.json -o sums.npz >/dev/null
$ hone run pair.onnxtxt -i sums.npz --fill ones
hone: 'sums.npz' has the array 'sum', which is no input: the inputs are left, right
[1]
$ hone run pair.onnxtxt -i left=sums.npz --fill ones
hone: 'sums.npz' has no array 'left'; it has sum, whole
[1]
$ hone run free.onnxtxt -i y.json -o y.npz >/dev/null && hone run free.onnxtxt -i y.npz
hone: 'y.npz' has the array 'y', which is no input: the inputs are image
[1]
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2] x) => (float[n,2] left, float[n,2] right) { left = Identity (x) right = Neg (x) }' >names.onnxtxt && hone run names.onnxtxt -i two.json -o good.npz >/dev/null
$ hone run pair.onnxtxt -i good.npz --json | grep name
    {"name": "left", "type": "float[1,2]"},
    {"name": "right", "type": "float[1,2]"}
    {"name": "sum", "type": "float[1,2]", "min": 0, "max": 0, "mean": 0, "nan": 0, "inf": 0},
    {"name": "whole", "type": "int64[1,2]", "min": 1, "max": 1, "mean": 1, "nan": 0, "inf": 0}
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2] x) => (float[n,2] arr_0) { arr_0 = Identity (x) }' >unnamed.onnxtxt && hone run unnamed.onnxtxt -i two.json -o unnamed.npz >/dev/null
$ hone run names.onnxtxt -i unnamed.npz --json | grep '"x"'
    {"name": "x", "type": "float[1,2]"}
$ hone run names.onnxtxt -i x=unnamed.npz --json | grep '"x"'
    {"name": "x", "type": "float[1,2]"}
$ hone run pair.onnxtxt -i unnamed.npz --fill ones
hone: 'unnamed.npz' has the array 'arr_0', which is no input: the inputs are left, right
[1]

Objects and records of NumPy.

$ printf "\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (2,), }             \n\x80\x03" >objects.npy && hone run names.onnxtxt -i objects.npy
hone: 'objects.npy' holds Python objects (dtype object), which a model cannot take; save an array of numbers or text, for example array.astype(numpy.float32)
[1]
$ printf "\x93NUMPY\x01\x00\x56\x00{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }                  \nabcd" >records.npy && hone run names.onnxtxt -i records.npy
hone: 'records.npy' holds records, which a model cannot take; save an array of numbers or text, for example array.astype(numpy.float32)
[1]

Datasets: folders of images, with a folder for each class, and rows of arrays.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] image) => (float[n,3] y) { y = ReduceMean <keepdims = 0, axes = [2, 3]> (image) }' >colour.onnxtxt && mkdir -p data/blue data/red data/0 && printf 'P6 1 1 255\n\xff00' >data/red/1.ppm && cp data/red/1.ppm data/red/2.ppm && printf 'P6 1 1 255\n00\xff' >data/blue/1.ppm && echo text >data/blue/notes.txt && rmdir data/0
$ printf 'red\ngreen\nblue\n' >colours.txt && hone run colour.onnxtxt --data data --labels colours.txt
colour.onnxtxt: 3 samples
  accuracy 100.00 % (3 of 3), among the first 5 100.00 %
$ hone run colour.onnxtxt --data image=data --labels colours.txt --json --top 2
{"model": "colour.onnxtxt", "samples": 3, "labelled": 3, "top1": 1, "top2": 1, "answers": [
  {"name": "blue/1.ppm", "label": 2, "class": 2, "value": 1},
  {"name": "red/1.ppm", "label": 0, "class": 0, "value": 1},
  {"name": "red/2.ppm", "label": 0, "class": 0, "value": 1}
]}
$ hone run colour.onnxtxt --data data/red --labels colours.txt
colour.onnxtxt: 2 samples
~
Answers
  sample  class  answer  value
  1.ppm          red         1
  2.ppm          red         1
$ hone run colour.onnxtxt --data data
colour.onnxtxt: 3 samples
  accuracy 0.00 % (0 of 3), among the first 5 100.00 %
~
Mistakes
  sample      class  answer  value
  blue/1.ppm  0      2           1
  red/1.ppm   1      0           1
  red/2.ppm   1      0           1
$ printf 'green\nblue\n' >few.txt && hone run colour.onnxtxt --data data --labels few.txt
hone: the folder 'red' is none of the classes of --labels
[1]
$ mkdir empty && hone run colour.onnxtxt --data empty
hone: the folder 'empty' has no images, nor folders with images
[1]
$ hone run colour.onnxtxt --data nowhere
hone: there is no dataset 'nowhere'
[1]
$ hone run colour.onnxtxt --dim n=2 --data data --labels colours.txt | tail -n +2
  accuracy 100.00 % (3 of 3), among the first 5 100.00 %
$ hone run digits.onnx --data $DATA/images.npy --json | head -n 2 | cut -c 1-60
{"model": "digits.onnx", "samples": 360, "labelled": 0, "ans
  {"name": "0", "class": 6, "value": 13.159307479858398},
$ hone run pair.onnxtxt --data two.json
hone: 'two.json': write NAME=PATH with the name of an input; the model has left, right
[1]
$ hone run pair.onnxtxt --data good.npz --top 1
pair.onnxtxt: 1 samples
~
Answers
  sample  class  answer  value
  0              0           0
$ hone run pair.onnxtxt --data left=$DATA/images.npy --fill ones
hone: input 'left' takes float[n,2], but the sample has float[1,1,8,8] (sample '0' of '*'; --max-bad N leaves out up to N)
[1]
$ hone run colour.onnxtxt --data data --repeat 3
hone: --data and --repeat exclude each other
[2]
