Ctrl-C: work stops within a moment, with the status of a program that a signal ends, and leaves no file.

$ cat > loop.onnxtxt <<< '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) <int64 m = {4000000000000}, bool go = {1}> { y = Loop (m, go, x) <body = b (int64 i, bool c, float[1] s) => (bool c, float[1] t) { t = Sin (s) }> }'
$ cat > product.onnxtxt <<< '<ir_version: 8, opset_import: ["" : 17]> g (float[n,n] x) => (float[n,n] y) { a = MatMul (x, x) b = MatMul (a, x) y = MatMul (b, x) }'
$ $INTERRUPTED 0.2 hone run loop.onnxtxt --random 1 -o results
hone: the run was cancelled
[130]
$ cat > bytes.onnxtxt <<< '<ir_version: 8, opset_import: ["" : 17]> g (uint8[n] x) => (uint8[n] y) { y = Identity (x) }'
$ $INTERRUPTED 0.2 hone run bytes.onnxtxt --random 1 --dim n=600000000
hone: interrupted while values of input 'x' were generated
[130]
$ $INTERRUPTED 1 hone run product.onnxtxt --random 1 --dim n=4000 -o results
hone: the run was cancelled
[130]
$ $INTERRUPTED 1 hone run product.onnxtxt --random 1 --dim n=4000 --threads 2
hone: the run was cancelled
[130]
$ $INTERRUPTED 0.2 hone run product.onnxtxt --random 1 --dim n=30 --repeat 1000000000
hone: the run was cancelled
[130]
$ $INTERRUPTED 0.2 hone bench product.onnxtxt --dim n=30 --time 3600
[130]
$ $INTERRUPTED 0.5 hone bench product.onnxtxt --dim n=30 --time 3600 --concurrent 2 --no-creation
[130]
$ $INTERRUPTED 0.2 hone optimize loop.onnxtxt -o optimized.onnx --verify --timeout 3600
[130]
$ $INTERRUPTED 0.2 hone diff loop.onnxtxt loop.onnxtxt --random 1
[130]
