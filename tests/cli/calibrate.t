Calibration reads the same datasets as `hone run --data`: images, here of one pixel, in batches, some of them broken.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] image) => (float[n,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { x = ReduceMean <keepdims = 0, axes = [2, 3]> (image) y = MatMul (x, w) }' >colour.onnxtxt
$ for c in red blue; do mkdir -p photos/$c; for i in 1 2 3; do printf 'P6 1 1 255\n' >photos/$c/$i.ppm; done; done; for i in 1 2 3; do printf '\xff\0\0' >>photos/red/$i.ppm; printf '\0\0\xff' >>photos/blue/$i.ppm; done; : >photos/red/0.jpg
$ hone quantize colour.onnxtxt -o q.onnx --calib photos
hone: 'photos/red/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image (sample 'red/0.jpg' of 'photos'; --max-bad N leaves out up to N)
[1]
$ hone quantize colour.onnxtxt -o q.onnx --calib photos --max-bad 1 --batch 4 --method minmax --calib-cache ranges.json 2>&1 >/dev/null; ls ranges.json
hone: warning: 1 sample cannot be read and is left out:
  red/0.jpg: 'photos/red/0.jpg' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
ranges.json
$ hone run q.onnx --data photos --max-bad 1 --json 2>/dev/null | grep -c class
6
$ hone quantize colour.onnxtxt -o q.onnx --calib photos --max-bad 1 --dim n=4 >/dev/null 2>&1; echo $?
0
$ hone quantize colour.onnxtxt --calib photos --max-bad 9 --crop x
hone: --crop x: write HEIGHTxWIDTH or one number for a square
[1]
$ mkdir none && hone quantize colour.onnxtxt -o none.onnx --calib none; ls none.onnx
hone: the folder 'none' has no images, nor folders with images
ls: cannot access 'none.onnx': No such file or directory
[2]
$ echo '{"inputs": {"image": {"file": "x.bin", "shape": [4, 1, 1]}}}' >m.json && head -c 32 /dev/zero >x.bin && hone quantize colour.onnxtxt -o none.onnx --calib m.json; ls none.onnx
hone: input 'image' takes float[n,3,h,w], but the sample has float[1,4,1,1] (sample '0' of 'm.json'; --max-bad N leaves out up to N)
ls: cannot access 'none.onnx': No such file or directory
[2]

Lines of text of different lengths.

$ printf '<ir_version: 8, opset_import: ["" : 17]> g (int64[n,s] input_ids, int64[n,s] attention_mask) => (float[n,s,2] y) <float[6,2] e = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, float[2,2] w = {1, 2, 3, 4}> { x = Gather (e, input_ids) m = Cast <to = 1> (attention_mask) axis = Constant <value_ints = [2]> () u = Unsqueeze (m, axis) z = Mul (x, u) y = MatMul (z, w) }' >bert.onnxtxt
$ printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nworld\n' >vocab.txt && printf 'hello\nhello world hello\nworld, hello\n' >lines.txt
$ hone quantize bert.onnxtxt -o q.onnx --calib lines.txt --vocab vocab.txt >/dev/null && hone run q.onnx --data lines.txt --vocab vocab.txt --batch 2 --json | grep -c class
3
