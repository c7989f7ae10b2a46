$ cp $MODELS/picture.onnxtxt . && printf 'hone run picture.onnxtxt -i "$1" --scale 1 -o y.json >/dev/null && cat y.json\n' >see

Red, green; blue, white.

$ echo SUkqAAgAAAAKAAABBAABAAAAAgAAAAEBBAABAAAAAgAAAAIBAwADAAAAhgAAAAMBAwABAAAAAQAAAAYBAwABAAAAAgAAABEBBAABAAAAjAAAABUBAwABAAAAAwAAABYBBAABAAAAAgAAABcBBAABAAAADAAAABwBAwABAAAAAQAAAAAAAAAIAAgACAD/AAAA/wAAAP////8= | base64 -d >four.tif && bash see four.tif
{"type": "float", "shape": [1, 3, 2, 2], "data": [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]}
$ head -c 20 four.tif >cut.tif && bash see cut.tif
hone: 'cut.tif' is not a valid TIFF file: its header is damaged
[1]

Gray, compressed.

$ echo SUkqABAAAACAExLB1/wEAAkAAAEDAAEAAAACAAAAAQEDAAEAAAACAAAAAgEDAAEAAAAIAAAAAwEDAAEAAAAFAAAABgEDAAEAAAABAAAAEQEEAAEAAAAIAAAAFgEDAAEAAAACAAAAFwEEAAEAAAAHAAAAHAEDAAEAAAABAAAAAAAAAA== | base64 -d >gray.tif && bash see gray.tif
{"type": "float", "shape": [1, 3, 2, 2], "data": [76, 150, 29, 255, 76, 150, 29, 255, 76, 150, 29, 255]}
