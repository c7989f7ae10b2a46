$ cp $MODELS/picture.onnxtxt . && printf 'hone run picture.onnxtxt -i "$1" --scale 1 -o y.json >/dev/null && cat y.json\n' >see

Red, green; blue, white.

$ echo R0lGODdhAgACAIEAAP///wD/AP8AAAAA/ywAAAAAAgACAAAIBwAFBBgAICAAOw== | base64 -d >four.gif && bash see four.gif
{"type": "float", "shape": [1, 3, 2, 2], "data": [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]}
$ head -c 20 four.gif >cut.gif && bash see cut.gif
hone: 'cut.gif' is not a valid GIF file: its header is damaged
[1]

Rows that are interlaced.

$ echo R0lGODdhAwAJAIEAAAAAAAoUHgAAAAAAACwAAAAAAwAJAAAIEQABCAxAUCAAggEMIlRYUGBAADs= | base64 -d >rows.gif && bash see rows.gif
{"type": "float", "shape": [1, 3, 9, 3], "data": [0, 0, 0, 10, 10, 10, 0, 0, 0, 10, 10, 10, 0, 0, 0, 10, 10, 10, 0, 0, 0, 10, 10, 10, 0, 0, 0, 0, 0, 0, 20, 20, 20, 0, 0, 0, 20, 20, 20, 0, 0, 0, 20, 20, 20, 0, 0, 0, 20, 20, 20, 0, 0, 0, 0, 0, 0, 30, 30, 30, 0, 0, 0, 30, 30, 30, 0, 0, 0, 30, 30, 30, 0, 0, 0, 30, 30, 30, 0, 0, 0]}
