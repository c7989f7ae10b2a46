$ cp $DATA/digits.onnx $MODELS/pair.onnxtxt .

Only sizes that are known can be measured.

$ hone tune --kernels pair.onnxtxt
no convolution of known sizes has more than one kernel
$ hone tune --kernels pair.onnxtxt --json
{"model": "pair.onnxtxt", "convolutions": []}
$ hone tune pair.onnxtxt
hone: add --kernels to tell what to tune; see `hone tune --help`
[2]
$ hone tune --kernels
hone: give one model; see `hone tune --help`
[2]

What is written depends on the processor; a run takes it, whatever it is.

$ hone tune --kernels digits.onnx --dim batch=4 --threads 1 -o kernels.txt > table
$ head -c 16 kernels.txt; echo
# hone kernels 1
$ hone run digits.onnx --random 1 --dim batch=4 --threads 1 --kernels kernels.txt > run

Files that are not of this processor are told, and never written over.

$ echo '# hone kernels 1: another (sse2)' > other.txt; echo notes > notes.txt
$ hone run digits.onnx --random 1 --kernels other.txt > run
hone: warning: kernels are not chosen by measurement: 'other.txt' was measured on another processor or by another version of hone
$ hone run digits.onnx --random 1 --kernels missing.txt > run
hone: warning: kernels are not chosen by measurement: cannot open 'missing.txt': No such file or directory
$ echo nonsense >> kernels.txt; hone run digits.onnx --random 1 --kernels kernels.txt > run
hone: warning: 'kernels.txt': lines that are not understood and left out: 1
$ hone tune --kernels digits.onnx -o notes.txt
hone: 'notes.txt' is no list of kernels as `hone tune` writes it; it was not changed: write to another file
[1]
$ cat notes.txt
notes
