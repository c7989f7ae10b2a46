$ cp $MODELS/*.onnxtxt .

$ hone view branch.onnxtxt --format text
branch.onnxtxt
  input  x  float[batch,seq,8]
  input  flag  bool
  local.double twice (x) -> d  float[batch,seq,8]
  If pick (flag) -> c  float[batch,?,8]
    then_branch:
      Concat t (d, x) -> t  float[batch,2*seq,8]
      output t  float[batch,2*seq,8]
    else_branch:
      Identity e (d) -> e  float[batch,seq,8]
      output e  float[batch,seq,8]
  Shape shape (c) -> s  int64[3]
  Reshape again (c, s) -> y  float[batch,rows,8]
  output y  float[batch,rows,8]
double (function)
  input  a  ?
  Add b (a, a) -> b  ?
  output b  ?

$ hone view gelu.onnxtxt --optimize --target onnxruntime --format text
gelu.onnxtxt became gelu.onnxtxt, optimized
com.microsoft.BiasGelu erf computes
  Add bias
  Div div
  Erf erf  (bias-gelu.bias-gelu)
  Add raise
  Mul gate
  Mul scale
removed
  Identity same  (no-ops.identity)

Two files, without a log of the optimizer.

$ hone optimize gelu.onnxtxt --target onnxruntime -o after.onnx >/dev/null

$ hone view gelu.onnxtxt after.onnx --format text
gelu.onnxtxt became after.onnx
com.microsoft.BiasGelu erf computes
  Identity same
  Add bias
  Div div
  Erf erf
  Add raise
  Mul gate
  Mul scale

$ hone view pair.onnxtxt --format dot
digraph hone {
  node [fontname="sans-serif", fontsize=10];
  subgraph cluster_0_0 {
    label="pair";
    m0_0_0 [shape=oval, label="left n×2"];
    m0_0_1 [shape=oval, label="right n×2"];
    m0_0_2 [shape=box, label="Add n×2", tooltip="sum"];
    m0_0_3 [shape=box, label="Cast n×2", tooltip="cast"];
    m0_0_4 [shape=box, label="Add n×2", tooltip="whole"];
    m0_0_5 [shape=oval, label="sum n×2"];
    m0_0_6 [shape=oval, label="whole n×2"];
    m0_0_0 -> m0_0_2 [tooltip="left"];
    m0_0_1 -> m0_0_2 [tooltip="right"];
    m0_0_2 -> m0_0_3 [tooltip="sum"];
    m0_0_3 -> m0_0_4 [tooltip="cast"];
    m0_0_2 -> m0_0_5 [tooltip="sum"];
    m0_0_4 -> m0_0_6 [tooltip="whole"];
  }
}

$ hone view branch.onnxtxt --format svg -o picture.svg && python3 -c "import xml.dom.minidom as x; print(x.parse('picture.svg').documentElement.tagName)"
picture.svg written
svg

The page, and a browser that is none.

$ mkdir bin && printf '#!/bin/sh\necho "shows $1"\n' >bin/xdg-open && chmod +x bin/xdg-open

$ PATH=$PWD/bin:$PATH hone view branch.onnxtxt --open
branch.onnxtxt.html written
shows branch.onnxtxt.html

$ printf '#!/bin/sh\nexit 3\n' >bin/xdg-open; PATH=$PWD/bin:$PATH hone view branch.onnxtxt -o page.html --open
page.html written
hone: xdg-open failed; open page.html in a browser
[1]

$ cmp branch.onnxtxt.html page.html; ls -a | grep -c tmp
0
[1]

$ hone view branch.onnxtxt -o - | tail -n 3
</script>
</body>
</html>

$ hone view branch.onnxtxt -o nowhere/page.html
hone: cannot write 'nowhere/page.html': No such file or directory
[1]

Times and errors of layers.

$ echo '[{"cat": "Node", "name": "bias_kernel_time", "dur": 5, "args": {"op_name": "Add", "provider": "CPUExecutionProvider"}}]' >profile.json

$ hone view gelu.onnxtxt --profile profile.json -o - | grep -o '"profile":\[\[.*'
"profile":[[5.000,1,[1],"Add","","CPUExecutionProvider","","",0.000]

$ echo '{"by_node": [{"name": "x", "op": "hone.Conv", "nodes": ["bias", "div"], "us": 7.5, "floor_us": 2.5, "count": 3, "bound": "memory", "kernel": "k"}]}' >report.json

$ hone view gelu.onnxtxt --profile report.json -o - | grep -o '"profile":\[\[.*'
"profile":[[7.500,3,[1,2],"Conv","hone","cpu","k","memory",2.500]

$ echo '{"nodes": [{"node": "erf", "output_sqnr": 30.5, "weight_sqnr": null}]}' >errors.json

$ hone view gelu.onnxtxt --sensitivity errors.json -o - | grep -o '"sensitivity":\[\[.*'
"sensitivity":[[3,30.5,null,null]

$ hone view gelu.onnxtxt --profile errors.json
hone: 'errors.json' has no times of nodes: give a profile of hone or onnxruntime
[1]

$ hone view gelu.onnxtxt --sensitivity profile.json
hone: 'profile.json' has no errors of layers: give what `hone quantize --explain --json` prints
[1]

$ printf '[{"cat": "Node"' >broken.json; hone view gelu.onnxtxt --profile broken.json
hone: 'broken.json', byte 15: a comma or } is missing
[1]

Options that do not fit.

$ hone view
hone: give one model, or two to compare; see `hone view --help`
[2]

$ hone view gelu.onnxtxt --format pdf
hone: --format is html, svg, dot or text, not 'pdf'
[2]

$ hone view gelu.onnxtxt --target onnx
hone: --target needs --optimize
[2]

$ hone view gelu.onnxtxt --format svg --open
hone: --open needs a page in a file
[2]

$ hone view gelu.onnxtxt pair.onnxtxt --optimize
hone: --optimize makes the second model: give one
[2]

$ hone view broken.onnxtxt
broken.onnxtxt.html written
