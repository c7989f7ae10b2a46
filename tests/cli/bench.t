Latency, throughput, creation and memory. Numbers differ from run to run, and counters of energy and of
the processor are not on every machine.

$ cp $DATA/digits.onnx $DATA/images.npy $DATA/labels.npy $MODELS/*.onnxtxt .

$ mkdir -p power/intel-rapl:0 && echo 1000000 >power/intel-rapl:0/energy_uj && echo 2000000 >power/intel-rapl:0/max_energy_range_uj

$ HONE_POWERCAP=power hone bench digits.onnx --runs 12 | grep -v 'instructions, cache misses:'
digits.onnx: hone 0.1.0, level all
  image float[1,1,8,8]
~
Latency, *
*median*mean*min*P90*P95*P99*P99.9*max*runs
 *
  median between *
~
Throughput, and what a run takes
*runs/s*samples/s*CPU*energy*instructions*cache misses
 *
~
Creation, ms
*load*optimize*pack*plan*first run*total*
 *
~
Memory
*model file*planned arena*resident*peak resident
        156 kB *

A histogram and a time series from 20 runs on.

$ hone bench digits.onnx --runs 40 --no-creation | sed -n '/^Histogram/,$p' | grep -o █ | head -1
█

$ hone bench digits.onnx --runs 40 --no-creation | sed -n '/^Latency over/,$p' | tail -2
             └────────────────────────────────────────
              first run                       last run

Energy is not available where nothing counts it.

$ HONE_POWERCAP=nowhere hone bench digits.onnx --runs 12 --no-creation | grep energy:
  energy: not available: no RAPL counters in nowhere

Progress on a terminal.

$ $ON_TERMINAL --until 'measuring .[#.]*. .* of 100000000 runs' hone bench digits.onnx --runs 100000000 --no-creation | wc -l
1

$ $ON_TERMINAL --until 'measuring .[#.]*. .* of 60000 ms' hone bench digits.onnx --time 60 --no-creation | wc -l
1

Sweeps: each combination is a case, and all run alternately.

$ hone bench digits.onnx -r 10 --level each --no-creation | sed -n '/^Latency/,/^Throughput/p' | cut -c 1-18
Latency, *
~
  level=none
  level=basic
  level=extended
  level=all
~
Latency, ratio to
~
  level=basic
  level=extended
  level=all
~
Throughput, and wh

$ hone bench digits.onnx -r 20 -x 1,2 -c 1,2 -b 1,4 --no-creation | sed -n '/^Latency, [mu]s/,/^$/p' | cut -c 1-30
Latency, *
~
  threads=1 sessions=1 batch=1
  threads=1 sessions=1 batch=4
  threads=1 sessions=2 batch=1
  threads=1 sessions=2 batch=4
  threads=2 sessions=1 batch=1
  threads=2 sessions=1 batch=4
  threads=2 sessions=2 batch=1
  threads=2 sessions=2 batch=4
~

$ hone bench digits.onnx -r 10 --level none,all | sed -n '/^Creation/,/^$/p' | cut -c 1-60
Creation, ms
*load*optimize*pack*plan*first run*total*
  level=none *
  level=all *
~

Several shapes in turn, and a rate.

$ hone bench digits.onnx -r 20 --data-shape batch=1 --data-shape image=8x1x8x8 --rate 2000 --no-creation | sed -n '/^Throughput/q;p'
digits.onnx: hone 0.1.0, level all, 2000 runs per second
  image float[1,1,8,8]
  image float[8,1,8,8]
~
Latency, *
*median*mean*min*P90*P95*P99*P99.9*max*runs
 *
  median between *
~
Latency by shape, *
*inputs*median*P95*P99*runs
    image float[1,1,8,8] *
    image float[8,1,8,8] *
~

Several models: ratios, and what their outputs differ by.

$ hone optimize digits.onnx -o optimized.onnx >/dev/null && hone bench digits.onnx optimized.onnx -r 20 --no-creation | sed -n '/^Latency, ratio/,/^$/p;/^Outputs/,$p'
Latency, ratio to digits.onnx
*ratio*95 % interval
  optimized.onnx *
~
Outputs, difference to digits.onnx
*max abs*max rel*cosine*SQNR dB
  digits.onnx *
  optimized.onnx *

Accuracy beside speed, and the table that people publish.

$ hone bench digits.onnx optimized.onnx -r 10 --data images.npy --targets labels.npy --top 2 --batch 8 --no-creation | sed -n '/^Accuracy/,/^$/p'
Accuracy
                  samples    top-1    top-2
  digits.onnx         360  99.17 %  99.72 %
  optimized.onnx      360  99.17 %  99.72 %
~

$ hone bench digits.onnx optimized.onnx -r 10 --data images.npy --targets labels.npy --publish --no-creation
| model*| median ms | P95 ms | P99 ms | samples/s, batch 1 | samples/s, batch 32 | accuracy |*size |
|:-*|-*:|-*:|-*:|-*:|-*:|-*:|-*:|
| digits.onnx *99.17 % | 156 kB |
| optimized.onnx *99.17 % | 153 kB |

$ hone bench digits.onnx -r 10 --reference optimized.onnx --no-creation | sed -n '/^Outputs/,$p'
Outputs, difference to optimized.onnx
*max abs*max rel*cosine*SQNR dB
 *

Models that take other inputs are measured side by side, but their outputs are not compared.

$ hone bench digits.onnx gelu.onnxtxt -r 10 --no-creation | sed -n '/^Outputs/,$p'
Outputs, difference to digits.onnx
                max abs  max rel    cosine  SQNR dB
  digits.onnx         0        0  1.000000      inf
  gelu.onnxtxt        -        -         -        -

$ hone bench digits.onnx -r 10 --reference gelu.onnxtxt --no-creation
hone: --reference 'gelu.onnxtxt', on the inputs of 'digits.onnx': the model has no input 'image'; it has x
[1]

For programs.

$ hone bench digits.onnx -r 10 --csv | head -1
model,runtime,level,threads,sessions,batch,runs,mean,min,max,p50,p90,p95,p99,p999,median_low,median_high,runs_per_second,samples_per_second,cpu_utilization,joules,instructions,cache_misses,load,optimize,pack,plan,first_run,creation,model_bytes,planned_bytes,resident_bytes,peak_bytes,ratio,top1,top_k

$ hone bench digits.onnx -r 10 --csv | cut -d, -f 1-7 | tail -1
"digits.onnx",hone,all,0,1,0,10

$ hone bench digits.onnx optimized.onnx -r 10 --json >old.json && grep -o '"model": "[a-z.]*"\|"against_first": {"ratio": \|"difference": {"outputs": 1\|"pack": ' old.json
"model": "digits.onnx"
"pack":
"difference": {"outputs": 1
"model": "optimized.onnx"
"pack":
"against_first": {"ratio":
"difference": {"outputs": 1

An earlier result. Where a case is faster than that, or slower by no more than the noise, all is well.

$ hone bench digits.onnx optimized.onnx -r 10 --baseline old.json --no-creation | sed -n '/^Median/,/^$/p'
Median against old.json, *
*before*now*ratio*95 % interval
  digits.onnx *
  optimized.onnx *
~

$ sed 's/"p50": [^,]*/"p50": 1000/g; s/"median_interval": \[[^]]*/"median_interval": [999, 1001/g' old.json >slow.json && hone bench digits.onnx -r 10 --baseline slow.json --fail-above 5% --no-creation >/dev/null

$ sed 's/"p50": [^,]*/"p50": 1e-9/g; s/"median_interval": \[[^]]*/"median_interval": [9e-10, 2e-9/g' old.json >fast.json && hone bench digits.onnx -r 10 --baseline fast.json --fail-above 5% --no-creation >/dev/null
hone: 'digits.onnx' takes * % longer than the baseline: more than --fail-above 5%
[1]

$ hone bench digits.onnx -r 10 --baseline old.json --level none --no-creation
hone: --baseline 'old.json' has no result of these models, runtimes, levels, threads, sessions and batches
[1]

What onnxruntime_perf_test and benchmark_app call it.

$ hone bench -m times -m digits.onnx -r 12 -x 1 -c 1 -o 99 -f batch:2 -S 7 --no-creation | head -2
digits.onnx: hone 0.1.0, level all, 1 thread
  image float[2,1,8,8]

$ hone bench -m digits.onnx -niter 12 -nthreads 1 -nireq 1 -b 2 -no_warmup --no-creation | head -2
digits.onnx: hone 0.1.0, level all, 1 thread
  image float[2,1,8,8]

Wrong numbers.

$ hone bench
hone: give one model or more; see `hone bench --help`
[2]

$ hone bench digits.onnx --runs 0
hone: --runs 0: write one run or more
[2]

$ hone bench digits.onnx --time 0
hone: --time 0: write some seconds, for example --time 5
[2]

$ hone bench digits.onnx --time nan
hone: --time nan: write a number of seconds, for example 2.5
[2]

$ hone bench digits.onnx --rate nan
hone: --rate nan: write runs per second, for example --rate 30
[2]

$ hone bench digits.onnx --rate 0
hone: --rate 0: write runs per second, for example --rate 30
[2]

$ hone bench digits.onnx --fail-above nan --baseline old.json
hone: --fail-above nan: write percents, for example --fail-above 5%
[2]

$ hone bench digits.onnx --fail-above 5%
hone: --fail-above needs something to compare with: --baseline, or several models
[2]

$ hone bench digits.onnx --batch 1,0
hone: --batch 1,0: write whole numbers from 1 to 1048576 with commas, for example --batch 1,2,4
[2]

$ hone bench digits.onnx --threads two
hone: --threads two: write whole numbers from 1 to 1024 with commas, for example --threads 1,2,4
[2]

$ hone bench digits.onnx --concurrent 0
hone: --concurrent 0: write whole numbers from 1 to 1024 with commas, for example --concurrent 1,2,4
[2]

$ hone bench digits.onnx --level most
hone: --level is none, basic, extended or all, not 'most'
[2]

$ hone bench digits.onnx --json --csv
hone: --json, --csv and --publish exclude each other
[2]

Wrong shapes and inputs.

$ hone bench digits.onnx --data-shape image=1x3x8x8
hone: --data-shape image=1x3x8x8: input 'image': the shape 1x3x8x8 does not fit its type float[batch,1,8,8]
[1]

$ hone bench digits.onnx --data-shape rows=3
hone: --data-shape rows=3: the model has no symbolic dimension 'rows'; it has batch
[1]

$ hone bench digits.onnx --data-shape batch
hone: --data-shape batch: write NAME=SIZE or INPUT=1x3x8x8, several with commas
[1]

$ hone bench digits.onnx --shape image=1x1x7x8
hone: --shape image=1x1x7x8: input 'image': the shape 1x1x7x8 does not fit its type float[batch,1,8,8]
[1]

$ hone save digits.onnx --dim batch=1 -o one.onnx && hone bench one.onnx --batch 8
hone: --batch 8: no input of 'one.onnx' has a free first dimension
[1]

$ hone bench digits.onnx --data-shape batch=2 --data images.npy
hone: --data-shape is for generated inputs: leave out --data
[2]

$ hone bench digits.onnx nowhere.onnx
hone: cannot open 'nowhere.onnx': No such file or directory
[1]

$ hone bench digits.onnx --memory 1 --runs 1
hone: the run needs 24576 bytes for intermediate values at its peak, but the limit is 1; the largest is made by node 'stem.relu' (hone.NchwConv)
[1]

A baseline that is none.

$ echo '{"results": [' >broken.json && hone bench digits.onnx --baseline broken.json
hone: --baseline: 'broken.json', byte 14: a number, a text, an array or an object belongs here
[1]

$ echo '{"results": 3}' >broken.json && hone bench digits.onnx --baseline broken.json
hone: --baseline 'broken.json' has no results; write baselines with `hone bench --json`
[1]

$ echo '{"results": [{"latency": {"p50": "nan"}}]}' >broken.json && hone bench digits.onnx -r 1 --no-creation --baseline broken.json
hone: --baseline 'broken.json': the result of 'digits.onnx' has no median of its latency with an interval; write baselines with `hone bench --json`
[1]

$ echo '{"results": [{"latency": {"p50": 1e999, "median_interval": [1, 1e999]}}]}' >broken.json && hone bench digits.onnx -r 1 --no-creation --baseline broken.json
hone: --baseline 'broken.json': the result of 'digits.onnx' has no median of its latency with an interval; write baselines with `hone bench --json`
[1]

$ hone bench digits.onnx --baseline nowhere.json
hone: --baseline: cannot open 'nowhere.json': No such file or directory
[1]

Libraries that are not there, or not onnxruntime.

$ hone bench digits.onnx --against nothing
hone: --against nothing: only onnxruntime is known
[2]

$ hone bench digits.onnx --library here
hone: --library is for --against onnxruntime
[2]

$ hone bench digits.onnx -r 1 --against onnxruntime --library nowhere.so
hone: --library 'nowhere.so': there is no such file or folder
[1]

$ hone bench digits.onnx -r 1 --against onnxruntime --library .
hone: --library '.': there is no libonnxruntime.so in this folder
[1]

$ HONE_ONNXRUNTIME=nowhere hone bench digits.onnx -r 1 --against onnxruntime
hone: HONE_ONNXRUNTIME 'nowhere': there is no such file or folder
[1]

$ hone bench digits.onnx -r 1 --against onnxruntime --library old.json
hone: cannot load './old.json': ./old.json: invalid ELF header
[1]

$ cp $MY_OPS library.so && hone bench digits.onnx -r 1 --against onnxruntime --library library.so
hone: './library.so' is not onnxruntime: it has no function OrtGetApiBase
[1]
