$ cp $DATA/digits.onnx $MODELS/*_habits.onnxtxt .

Times by operator and by node, memory, findings; numbers differ from run to run. Peaks are measured once.

$ hone profile digits.onnx --dim batch=4 --repeat 3 --threads 1 --no-findings --top 1 | grep -v '^ '
digits.onnx
load * 3 runs of * nodes take *
peaks of * on 1 thread: *
memory: 98.3 kB of intermediate values, 152 kB of weights
~
Time by operator
~
Time by node
~
Memory over the run

$ hone profile digits.onnx --dim batch=4 --repeat 3 --threads 1 --no-findings --by kernel,memory | grep '^  view\|^  peak '
  view * 1 *
  peak 98.3 kB at step 3 of 8, block.relu2

$ ls cache/hone && sed 's/ .*//' cache/hone/peaks-1.txt
peaks-1.txt
hone
cpu
threads
flops
int8
read
cache
checksum

What was measured is kept; a file that was changed is measured again, and so it is on request.

$ cp cache/hone/peaks-1.txt first && hone profile digits.onnx --repeat 1 --threads 1 --json >/dev/null && cmp first cache/hone/peaks-1.txt

$ sed -i 's/flops .*/flops 1/' cache/hone/peaks-1.txt && hone profile digits.onnx --repeat 1 --threads 1 --json >/dev/null && grep -c 'flops 1$' cache/hone/peaks-1.txt
0
[1]

$ echo 'hone peaks 1' >cache/hone/peaks-1.txt && hone profile digits.onnx --repeat 1 --threads 1 --measure-peaks --json >/dev/null && wc -l <cache/hone/peaks-1.txt
8

A trace for viewers, with the fields of onnxruntime's profiles; it is read again.

$ hone profile digits.onnx --repeat 2 --threads 2 --trace trace.json --no-findings >/dev/null && $CHECK_TRACE trace.json
valid: Memory, Node, Session, __metadata

$ hone profile trace.json --threads 1 --by op --top 1 --no-findings | grep -v '^ '
trace.json
load * 2 runs of * nodes take *
peaks of *
~
Time by operator

Two profiles, matched by the nodes of the model.

$ hone profile digits.onnx --repeat 2 --threads 1 --level none --trace none.json --no-findings >/dev/null

$ COLUMNS=200 hone profile --diff none.json trace.json --top 0 | awk -F '  +' 'NR > 5 { print $2 }' | sort
block.conv1 + block.bn1 + block.relu1
block.conv2 + block.bn2 + block.add + block.relu2
classify
head.conv + head.bn + head.relu
head.mean
head.mean.flatten
pool
stem.conv + stem.bn + stem.relu

A model with bad habits gets each finding, one without them none.

$ for level in none all; do hone profile bad_habits.onnxtxt --threads 1 --repeat 3 --level $level --json >found.json && $CHECK_TRACE --findings found.json; done
casts constant denormals layout output unfused
casts denormals layout output unfused

$ hone profile good_habits.onnxtxt --threads 1 --repeat 3 --json >found.json && $CHECK_TRACE --findings found.json
none

The page is one file.

$ hone profile good_habits.onnxtxt --threads 1 --repeat 2 --html page.html >/dev/null && grep -c 'id="data"' page.html && grep -o 'https\?://[^"]*' page.html
1
http://www.w3.org/2000/svg

Mistakes are named.

$ hone profile
hone: give one model or profile; see `hone profile --help`
[2]

$ hone profile --diff trace.json
hone: --diff compares two: give two profiles or models
[2]

$ hone profile nothing.json
hone: cannot open 'nothing.json': No such file or directory
[1]

$ printf '[{"cat": "Node", "ph": "X", "name": "relu_kern' >cut.json && hone profile cut.json
hone: 'cut.json', byte 46: a text does not end
[1]

$ echo '[{"cat": "Node", "ph": "X", "name": "relu_kernel_time", "ts": "now"}]' >late.json && hone profile late.json
hone: 'late.json', byte 57: "ts" must be a number of microseconds, 0 or more
[1]

$ echo '[]' >empty.json && hone profile empty.json
hone: 'empty.json' has no events of nodes; give a trace of `hone profile` or a profile of onnxruntime
[1]

$ hone profile digits.onnx --by time
hone: --by time: write node, op, kernel, thread, memory or all
[1]

$ hone profile digits.onnx --top few
hone: --top few: write a number of rows, or 0 for all
[1]

$ hone profile digits.onnx --open
hone: --open needs a page: add --html FILE
[1]
