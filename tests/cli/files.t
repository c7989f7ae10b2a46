$ cp $DATA/digits.onnx $MODELS/*.onnxtxt .

What is no model is named, in one sentence.

$ hone info missing.onnx
hone: cannot open 'missing.onnx': No such file or directory
[1]

$ : > empty.onnx; hone info empty.onnx
hone: empty.onnx is empty, not an ONNX model: the export or the download went wrong: make it again
[1]

$ mkdir folder.onnx; hone info folder.onnx
hone: cannot read 'folder.onnx': it is a folder; give the path of a file
[1]

$ printf 'PK\003\004\024\0\0\0\0\0........................archive/data.pkl' > model.pt; hone info model.pt
hone: model.pt is a PyTorch archive (zip), not an ONNX model: export it with torch.onnx.export
[1]

$ printf '\034\0\0\0TFL3....' > model.tflite; hone info model.tflite
hone: model.tflite is a TensorFlow Lite model, not an ONNX model: convert it with tf2onnx (python -m tf2onnx.convert --tflite)
[1]

$ printf '\020\0\0\0\0\0\0\0{"a":{"dtype":1}}' > model.safetensors; hone info model.safetensors
hone: model.safetensors is a safetensors file: weights without a graph, not an ONNX model: load it in its framework and export the model to ONNX
[1]

$ printf 'Dear model,\nhow are you?\n' > letter.txt; hone info letter.txt
hone: 'letter.txt': line 1, column 6: expected '=>' after the inputs of the graph, found 'model'
[1]

$ printf '\010\001\022\356\001\012\010serve\022....saved_model' > saved_model.pb; hone info saved_model.pb
hone: saved_model.pb is a TensorFlow SavedModel, not an ONNX model: convert it with tf2onnx (python -m tf2onnx.convert)
[1]

$ printf 'version https://git-lfs.github.com/spec/v1\n' > pointer.onnx; hone info pointer.onnx
hone: pointer.onnx is a git LFS pointer, not the file itself, not an ONNX model: fetch the model with 'git lfs pull'
[1]

$ head -c 2000 digits.onnx > cut.onnx; hone info cut.onnx
hone: 'cut.onnx': at byte 16: field 7 of ModelProto claims 156022 bytes, 1981 remain: the file is truncated or damaged
[1]

Outputs appear whole or not at all.

$ hone save digits.onnx -o /dev/full
hone: cannot write '/dev/full': No space left on device
[1]

$ hone save digits.onnx -o no/such/folder/out.onnx
hone: cannot write 'no/such/folder/out.onnx': No such file or directory
[1]

$ mkdir target.onnx; hone save digits.onnx -o target.onnx
hone: cannot write 'target.onnx': it is a folder; give the path of a file
[1]

$ cp digits.onnx same.onnx; hone save same.onnx -o same.onnx; cmp same.onnx digits.onnx; ls -A | grep tmp
[1]
