$ cp $DATA/digits.onnx $MODELS/*.onnxtxt .

A plain copy is the same, byte for byte.

$ hone save digits.onnx -o copy.onnx && cmp copy.onnx digits.onnx

Shapes stored in the file.

$ hone save digits.onnx -o shaped.onnx --infer --dim batch=2 && hone info --json --values shaped.onnx | grep -c '"shape"'
42

$ hone info shaped.onnx | grep -A1 -E "Inputs|Outputs"
Inputs
  image  float[2,1,8,8]
--
Outputs
  logits  float[2,10]

External data, there and back again.

$ hone save digits.onnx -o ext.onnx --external-data --external-threshold 4k && ls ext.onnx*
ext.onnx
ext.onnx.data

$ hone info ext.onnx | grep -E "file|parameters"
  parameters  38,442 in 22 tensors, 154 kB
  file        8.76 kB and 147 kB of external data

$ hone check ext.onnx && hone save ext.onnx -o back.onnx --external-data=never && hone info back.onnx | grep file
ext.onnx: valid
  file        156 kB

$ rm ext.onnx.data; hone check ext.onnx
ext.onnx: error: 'ext.onnx': tensor 'block.conv1.weight': cannot open external data './ext.onnx.data': No such file or directory
[1]

In place, with the data file under its own name. A file that another model needs is kept.

$ hone save digits.onnx -o ext.onnx --external-data && hone save ext.onnx -o ext.onnx --external-data --external-threshold 4k && ls -A ext.onnx* .hone* 2>&1 | grep -v cannot && hone check ext.onnx
ext.onnx
ext.onnx.data
ext.onnx: valid

$ hone save digits.onnx -o other.onnx --external-data --external-file ext.onnx.data
hone: 'ext.onnx.data' cannot be the data file of 'other.onnx': it exists, and is not the data file of the model that is replaced: remove it if nobody needs it; another name can be given
[1]

$ hone save digits.onnx -o other.onnx --external-data --external-file digits.onnx
hone: 'digits.onnx' cannot be the data file of 'other.onnx': the model that is saved is read from it; another name can be given
[1]

$ hone save ext.onnx -o ext.onnx.data
hone: cannot save to 'ext.onnx.data': it holds data of the model that is saved; give another path
[1]

$ (ulimit -f 16; trap '' XFSZ; hone save ext.onnx -o ext.onnx --external-data); hone check ext.onnx; ls -A .hone* other* 2>/dev/null
hone: cannot write 'ext.onnx.data': File too large
ext.onnx: valid
[2]

A part of the graph.

$ hone info digits.onnx --values | grep -E "stem|pool" | head -3
   0  stem.conv.weight       float[32,1,3,3]
   1  stem.bn.scale          float[32]
   2  stem.bn.bias           float[32]

$ hone save digits.onnx -o part.onnx --extract image,logits && hone check part.onnx
part.onnx: valid

$ hone save digits.onnx -o part.onnx --extract nothing,logits
hone: --extract nothing,logits: write IN,OUT or in1,in2:out1,out2 with names of values; `hone info --values` lists them
[1]

Names.

$ hone save digits.onnx -o renamed.onnx --rename image=x --rename logits=y && hone info renamed.onnx | grep -A1 -E "^(Inputs|Outputs)"
Inputs
  x  float[batch,1,8,8]
--
Outputs
  y  float[batch,10]

$ hone save digits.onnx -o renamed.onnx --rename image=logits
hone: cannot rename 'image' to 'logits': that name is taken
[1]

$ hone save digits.onnx -o renamed.onnx --rename nobody=x
hone: --rename nobody=x: write OLD=NEW, where OLD is the name of a value; `hone info --values` lists them
[1]

Functions inlined, text written.

$ hone save branch.onnxtxt -o flat.onnx --inline-functions && hone info --text flat.onnx
<
   ir_version: 8,
   opset_import: ["" : 18]
>
branch (float[batch,seq,8] x, bool flag) => (float[batch,rows,8] y) {
   d = Add (x, x)
   [pick] c = If (flag) <then_branch: graph = small () => (float[batch,n,8] t) {
      t = Concat <axis: int = 1> (d, x)
   }, else_branch: graph = large () => (float[batch,n,8] e) {
      e = Identity (d)
   }>
   [shape] s = Shape (c)
   [again] y = Reshape (c, s)
}

$ hone save branch.onnxtxt -o flat.onnxtxt --strip=names,docs && hone check flat.onnxtxt
flat.onnxtxt: valid

Wrong command lines.

$ hone save digits.onnx
hone: give one model and -o FILE; see `hone save --help`
[2]

$ hone save digits.onnx -o x.onnx --external-data=maybe
hone: --external-data is always, never or keep, not 'maybe'
[2]

$ hone save digits.onnx -o x.onnx --strip=everything
hone: --strip accepts docs, names, values, metadata, shapes and unused, not 'everything'
[1]

$ ls x.onnx
ls: cannot access 'x.onnx': No such file or directory
[2]
