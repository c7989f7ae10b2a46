Datasets: what `hone run --data` reads. A model that tells the mean of each channel, and images of one pixel.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] image) => (float[n,3] y) { y = ReduceMean <keepdims = 0, axes = [2, 3]> (image) }' >colour.onnxtxt
$ for c in red green blue; do mkdir -p photos/$c; for i in 1 2 3 4; do printf 'P6 1 1 255\n' >photos/$c/$i.ppm; done; done; for i in 1 2 3 4; do printf '\xff00' >>photos/red/$i.ppm; printf '0\xff0' >>photos/green/$i.ppm; printf '00\xff' >>photos/blue/$i.ppm; done; printf 'red\ngreen\nblue\n' >colours.txt
$ hone run colour.onnxtxt --data photos --labels colours.txt --batch 5
colour.onnxtxt: 12 samples
  accuracy 100.00 % (12 of 12), among the first 5 100.00 %
$ hone run colour.onnxtxt --data photos --labels colours.txt --dim n=5
colour.onnxtxt: 12 samples
  accuracy 100.00 % (12 of 12), among the first 5 100.00 %
$ hone run colour.onnxtxt --data photos --labels colours.txt --dim n=5 --batch 4
hone: input 'image' takes float[5,3,h,w], 5 samples at once, not a batch of 4
[1]

A limit takes samples of every class; with a seed they come in random order, always the same.

$ hone run colour.onnxtxt --data photos --labels colours.txt --limit 4 --json | grep -o '[a-z]*/[0-9]'
blue/1
blue/4
green/3
red/2
$ hone run colour.onnxtxt --data photos/red --limit 2 --json | grep -o '"[0-9]*.ppm'
"1.ppm
"2.ppm
$ hone run colour.onnxtxt --data photos --shuffle 7 --limit 5 --json | grep -o '[a-z]*/[0-9]' >order; hone run colour.onnxtxt --data photos --shuffle 7 --limit 5 --batch 3 --data-threads 1 --json | grep -o '[a-z]*/[0-9]' | diff order - && wc -l <order
5
$ hone run colour.onnxtxt --data photos --shuffle x
hone: --shuffle x: write a seed, for example --shuffle 1
[1]

Classes of images that lie in one folder.

$ printf '0\n0\n1\n0\n' >targets.txt && hone run colour.onnxtxt --data photos/red --targets targets.txt | head -n 2
colour.onnxtxt: 4 samples
  accuracy 75.00 % (3 of 4), among the first 5 100.00 %
$ printf '0\n0\n1\n' >targets.txt && hone run colour.onnxtxt --data photos/red --targets targets.txt
hone: --targets targets.txt: it has 3 numbers, but there are 4 samples
[1]
$ printf '0\n0\nred\n' >targets.txt && hone run colour.onnxtxt --data photos/red --targets targets.txt
hone: --targets targets.txt: number 3 is 'red', which is no whole number
[1]

Images that cannot be read are named; some may be left out.

$ mkdir bad && cp photos/red/* bad && : >bad/0.jpg && echo text >bad/3a.png && printf 'P6 99999 99999 255\n' >bad/5.ppm && mkfifo bad/6.png
$ hone run colour.onnxtxt --data bad
hone: 'bad/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image (sample '0.jpg' of 'bad'; --max-bad N leaves out up to N)
[1]
$ hone run colour.onnxtxt --data bad --max-bad 2
hone: more than 2 samples of 'bad' cannot be read; the first one: 'bad/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
[1]
$ hone run colour.onnxtxt --data bad --max-bad 3 --top 1
hone: warning: 3 samples cannot be read and are left out:
  0.jpg: 'bad/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
  3a.png: 'bad/3a.png' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
  5.ppm: 'bad/5.ppm' is not a valid PNM file: it is truncated
colour.onnxtxt: 4 samples
~
Answers
  sample  class  answer  value
  1.ppm          0           1
  2.ppm          0           1
  3.ppm          0           1
  4.ppm          0           1
$ hone run colour.onnxtxt --data bad --max-bad 3 --limit 3 --json 2>/dev/null
{"model": "colour.onnxtxt", "samples": 3, "labelled": 0, "left_out": 1, "answers": [
  {"name": "1.ppm", "class": 0, "value": 1},
  {"name": "2.ppm", "class": 0, "value": 1},
  {"name": "3.ppm", "class": 0, "value": 1}
]}
$ rm bad/[1-4].ppm && hone run colour.onnxtxt --data bad --max-bad 9
hone: no sample of 'bad' can be read; the first one: 'bad/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
[1]
$ hone run colour.onnxtxt --data photos/red --max-bad 9 --shape image=1x3x2x2
hone: no sample of 'photos/red' can be read; the first one: the image has 1x1 pixels, but 'image' is float[1,3,2,2]: add --resize 2x2, or --resize and --crop
[1]

Folders in folders, links that lead back.

$ mkdir -p deep/a/b/c && cp photos/red/1.ppm deep/a/b/c && hone run colour.onnxtxt --data deep | head -n 2
colour.onnxtxt: 1 samples
  accuracy 100.00 % (1 of 1), among the first 5 100.00 %
$ ln -s .. deep/a/back && hone run colour.onnxtxt --data deep
hone: the folder 'deep/a/back' is a link to a folder that contains it
[1]
$ mkdir -p deeper/$(printf 'x/%.0s' $(seq 20)) && hone run colour.onnxtxt --data deeper
hone: the folder 'deeper/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x' is too deep: images may lie 16 folders deep
[1]
$ mkdir none && hone run colour.onnxtxt --data none
hone: the folder 'none' has no images, nor folders with images
[1]

Samples that are changed at random: the same ones whatever the threads.

$ hone run colour.onnxtxt --data photos --augment noise=0.5,scale=0.2,flip,copies=3 --json >one && hone run colour.onnxtxt --data photos --augment noise=0.5,scale=0.2,flip,copies=3 --data-threads 1 --batch 7 --json | diff one - && grep -c name one
36
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] image) => (float[n,s] y) { y = Flatten (image) }' >flat.onnxtxt && mkdir wide && printf 'P6 3 1 255\n\xff0000000000' >wide/a.ppm && hone run flat.onnxtxt --data wide --augment flip,copies=8 --json | grep -o 'class": [0-9]*' | sort | uniq -c
      5 class": 0
      3 class": 2
$ hone run colour.onnxtxt --data photos --augment blur=3
hone: --augment blur=3: write for example noise=0.02,scale=0.1,flip,copies=4
[1]
$ hone run colour.onnxtxt --data photos --augment copies=0
hone: --augment copies=0: write for example noise=0.02,scale=0.1,flip,copies=4
[1]
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[n,2] x) => (int64[n,2] y) { y = Identity (x) }' >whole.onnxtxt && printf '{"inputs": {"x": {"file": "x.bin"}}}' >whole.json && head -c 32 /dev/zero >x.bin && hone run whole.onnxtxt --data whole.json --augment noise=1
hone: --augment noise=1: the inputs of the dataset are not float
[1]
$ hone run whole.onnxtxt --data whole.json --augment flip
hone: 'x' is int64[n,2]: an image needs a tensor of 3 or 4 dimensions
[1]

ONNX test data: test_data_set_N with input_N.pb.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2] left, float[n,2] right) => (float[n,2] sum) { sum = Add (left, right) }' >sum.onnxtxt && for i in 0 2 10; do mkdir -p sets/test_data_set_$i; printf '[[%s, 1]]' $i >v.json; hone run sum.onnxtxt -i left=v.json --fill zeros -o sets/test_data_set_$i/input_0.pb >/dev/null; cp sets/test_data_set_$i/input_0.pb sets/test_data_set_$i/input_1.pb; done
$ hone run sum.onnxtxt --data sets --top 1
sum.onnxtxt: 3 samples
~
Answers
  sample            class  answer  value
  test_data_set_0          1           2
  test_data_set_2          0           4
  test_data_set_10         0          20
$ hone run sum.onnxtxt --data sets/test_data_set_10 --json
{"model": "sum.onnxtxt", "samples": 1, "labelled": 0, "answers": [
  {"name": "test_data_set_10", "class": 0, "value": 20}
]}
$ rm sets/test_data_set_2/input_1.pb && hone run sum.onnxtxt --data sets
hone: cannot open 'sets/test_data_set_2/input_1.pb': No such file or directory (sample 'test_data_set_2' of 'sets'; --max-bad N leaves out up to N)
[1]
$ head -c 7 sets/test_data_set_0/input_0.pb >sets/test_data_set_2/input_1.pb; hone run sum.onnxtxt --data sets --max-bad 1 --json | head -n 1
hone: warning: 1 sample cannot be read and is left out:
  test_data_set_2: 'sets/test_data_set_2/input_1.pb': at byte 7: TensorProto ends inside a number: the file is truncated or damaged
{"model": "sum.onnxtxt", "samples": 2, "labelled": 0, "left_out": 1, "answers": [
$ hone run whole.onnxtxt --data sets
hone: input 'x' takes int64[n,2], but the sample has float[1,2] (sample 'test_data_set_0' of 'sets'; --max-bad N leaves out up to N)
[1]

Raw files with a manifest: samples behind each other, or listed.

$ printf 'abcdefghijkl' >bytes.bin && printf '<ir_version: 8, opset_import: ["" : 17]> g (uint8[n,2,2] x) => (uint8[n,4] y) <int64[2] s = {-1, 4}> { y = Reshape (x, s) }' >bytes.onnxtxt
$ echo '{"inputs": {"x": {"file": "bytes.bin"}}, "labels": [3, 3, 0]}' >m.json && hone run bytes.onnxtxt --data m.json --batch 2
bytes.onnxtxt: 3 samples
  accuracy 66.67 % (2 of 3), among the first 5 100.00 %
~
Mistakes
  sample  class  answer  value
  2       0      3         108
$ echo '{"inputs": {"x": {"type": "uint8", "shape": [2, 2], "file": "bytes.bin", "offset": 4}}}' >m.json && hone run bytes.onnxtxt --data m.json --json
{"model": "bytes.onnxtxt", "samples": 2, "labelled": 0, "answers": [
  {"name": "0", "class": 3, "value": 104},
  {"name": "1", "class": 3, "value": 108}
]}
$ echo '{"inputs": {"x": {"file": "bytes.bin"}}, "samples": [{"name": "last", "label": 3, "inputs": {"x": {"offset": 8}}}, {"inputs": {"x": "bytes.bin"}}]}' >m.json && hone run bytes.onnxtxt --data m.json --json
{"model": "bytes.onnxtxt", "samples": 2, "labelled": 1, "top1": 1, "top5": 1, "answers": [
  {"name": "last", "label": 3, "class": 3, "value": 108},
  {"name": "1", "class": 3, "value": 100}
]}
$ echo '{"inputs": {"x": {"file": "bytes.bin", "shape": [5]}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json': 'bytes.bin' has 12 bytes from byte 0 on, which are not samples of 5 bytes, as many as for the other inputs
[1]
$ echo '{"inputs": {"x": {"file": "bytes.bin", "shape": [2, 3]}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: input 'x' takes uint8[n,2,2], but the sample has uint8[1,2,3] (sample '0' of 'm.json'; --max-bad N leaves out up to N)
[1]
$ echo '{"inputs": {"x": {"file": "bytes.bin", "type": "float", "shape": [1]}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: input 'x' takes uint8[n,2,2], but the sample has float[1] (sample '0' of 'm.json'; --max-bad N leaves out up to N)
[1]
$ echo '{"inputs": {"x": {"file": "../bytes.bin"}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json': the file '../bytes.bin' of input 'x' does not lie in the folder of the manifest
[1]
$ echo '{"inputs": {"x": {"fille": "bytes.bin"}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json': input 'x' has a wrong "fille"; an input has "type", "shape", "file" and "offset"
[1]
$ echo '{"inputs": {"z": {"file": "bytes.bin"}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json' has 'z', which is no input: the inputs are x
[1]
$ echo '{"inputs": {"x": {"file": "gone.bin"}}}' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json': there is no file 'gone.bin'
[1]
$ echo '{"inputs": {"x": {"file": "bytes.bin", "shape": [4294967296, 4294967296]}}, "samples": [{}]}' >m.json && hone run bytes.onnxtxt --data m.json
hone: './bytes.bin': its shape has too many elements (sample '0' of 'm.json'; --max-bad N leaves out up to N)
[1]
$ echo '{"inputs": {"x": {"file": "bytes.bin"}}, "samples": [{"inputs": {"x": {"offset": 1e15}}}]}' >m.json && hone run bytes.onnxtxt --data m.json
hone: './bytes.bin' is missing, or has no 4 bytes of elements from byte 1000000000000000 on (sample '0' of 'm.json'; --max-bad N leaves out up to N)
[1]
$ (printf '{"inputs": '; printf '[%.0s' $(seq 5000)) >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json', byte 75: arrays and objects are nested too deep
[1]
$ printf '{"inputs": {"x": "\\u12' >m.json && hone run bytes.onnxtxt --data m.json
hone: 'm.json', byte 22: a \u escape has four hexadecimal digits
[1]

Lines of text: tokens, mask and text of each token go to the inputs that have their names. The weights tell the places.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[n,s] input_ids, int64[n,s] attention_mask, int64[n,s] token_type_ids) => (int64[n,t] y) { y = Concat <axis = 1> (input_ids, attention_mask, token_type_ids) }' >bert.onnxtxt
$ printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nworld\n##s\n!\nuber\n世\n[MASK]\n' >vocab.txt
$ printf 'Hello worlds!\n\nÜber 世界\nhello hello\tworld [MASK]\n' >lines.txt && hone run bert.onnxtxt --data lines.txt --vocab vocab.txt --json
{"model": "bert.onnxtxt", "samples": 3, "labelled": 0, "answers": [
  {"name": "1", "class": 4, "value": 7},
  {"name": "2", "class": 2, "value": 9},
  {"name": "3", "class": 5, "value": 10}
]}
$ hone run bert.onnxtxt --data lines.txt --vocab vocab.txt --text-case keep --json | grep -c '"class"'
3
$ sed 's/\[n,s\] \([a-z_]*ids\)/[n,s] \1/; s/Concat <axis = 1> (input_ids, attention_mask, token_type_ids)/Identity (input_ids)/' bert.onnxtxt >ids.onnxtxt && hone run ids.onnxtxt --data lines.txt --vocab vocab.txt --batch 3 --top 1
ids.onnxtxt: 3 samples
~
Answers
  sample  class  answer  value
  1              4           7
  2              2           9
  3              5          10
$ hone run ids.onnxtxt --data lines.txt --vocab vocab.txt --shape input_ids=1x4 --shape attention_mask=1x4 --shape token_type_ids=1x4 --top 1 --json | grep -c '"class"'
3
$ hone run ids.onnxtxt --data lines.txt --vocab vocab.txt --shape input_ids=1x4 --max-length 8
hone: --max-length 8: input 'input_ids' takes int64[1,4]
[1]
$ hone run ids.onnxtxt --data lines.txt --vocab vocab.txt --max-length 2
hone: 2 tokens are too few: [CLS] and two [SEP] are added
[1]
$ hone run ids.onnxtxt --data lines.txt
hone: 'lines.txt': lines of text need --vocab FILE
[1]
$ hone run ids.onnxtxt --data lines.txt --vocab lines.txt
hone: 'lines.txt' is no WordPiece vocabulary: one of the lines [UNK], [CLS] and [SEP] is missing
[1]
$ hone run ids.onnxtxt --data lines.txt --vocab vocab.txt --text-case upper
hone: --text-case upper: write lower or keep
[1]
$ hone run sum.onnxtxt --data lines.txt --vocab vocab.txt
hone: 'lines.txt': write NAME=PATH with the name of the input that takes the tokens; the model has left, right
[1]
$ hone run sum.onnxtxt --data left=lines.txt --vocab vocab.txt --fill ones
hone: 2 tokens are too few: [CLS] and two [SEP] are added
[1]
$ printf '\n \t \n' >blank.txt && hone run ids.onnxtxt --data blank.txt --vocab vocab.txt
hone: 'blank.txt' has no lines of text
[1]
$ printf 'a\xff\xfe\xc0\x80 \xf0\x9f\x98 hello\n' >broken.txt && hone run ids.onnxtxt --data broken.txt --vocab vocab.txt --json | tail -n 2
  {"name": "1", "class": 2, "value": 4}
]}
$ (cat vocab.txt; head -c 3000000 /dev/zero | tr '\0' x) >long.txt && (head -c 3000000 /dev/zero | tr '\0' x) >line.txt && hone run ids.onnxtxt --data line.txt --vocab long.txt --json | tail -n 2
  {"name": "1", "class": 2, "value": 3}
]}

Arrays.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,2] x) => (float[n,2] left, int64[n] labels) <int64[1] axes = {1}> { left = Neg (x) s = ReduceSum <keepdims = 0> (x, axes) labels = Cast <to = 7> (s) }' >make.onnxtxt && echo '[[0, 0], [1, 0], [0, 1]]' >rows.json && hone run make.onnxtxt -i rows.json -o rows.npz >/dev/null && hone run sum.onnxtxt --data rows.npz --fill ones --batch 2
sum.onnxtxt: 3 samples
  accuracy 66.67 % (2 of 3), among the first 5 100.00 %
~
Mistakes
  sample  class  answer  value
  2       1      0           1
$ hone run whole.onnxtxt --data rows.json --json | head -n 1
{"model": "whole.onnxtxt", "samples": 3, "labelled": 0, "answers": [
$ hone run make.onnxtxt -i rows.json -o left=rows.npy >/dev/null && hone run whole.onnxtxt --data rows.npy
hone: input 'x' takes int64[n,2], but the sample has float[1,2] (sample '0' of 'rows.npy'; --max-bad N leaves out up to N)
[1]
$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Identity (x) }' >row.onnxtxt && hone run row.onnxtxt --data rows.npy --top 1
row.onnxtxt: 3 samples
~
Answers
  sample  class  answer  value
  0              0          -0
  1              1          -0
  2              0          -0
$ head -c 140 rows.npy >cut.npy && hone run row.onnxtxt --data cut.npy
hone: 'cut.npy' is truncated: 6 elements of 4 bytes do not fit into 12
[1]
$ hone run row.onnxtxt --data rows.npy --batch 2
hone: input 'x' takes float[2], 1 sample at once, not a batch of 2
[1]
$ hone run colour.onnxtxt --data photos/red/1.ppm --resize 2 --json
{"model": "colour.onnxtxt", "samples": 1, "labelled": 0, "answers": [
  {"name": "1.ppm", "class": 0, "value": 1}
]}
