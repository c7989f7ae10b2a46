$ cp $MODELS/picture.onnxtxt . && printf 'hone run picture.onnxtxt -i "$1" --scale 1 -o y.json >/dev/null && cat y.json\n' >see

PNM: text or bytes, gray or color, up to 16 bits.

$ printf 'P3 # a remark\n2 1\n#another\n255\n1 2 3\n4 5 6\n' >a.ppm && bash see a.ppm
{"type": "float", "shape": [1, 3, 1, 2], "data": [1, 4, 2, 5, 3, 6]}

$ printf 'P2 3 1 15\n0 7 15\n' >a.pgm && bash see a.pgm
{"type": "float", "shape": [1, 3, 1, 3], "data": [0, 119, 255, 0, 119, 255, 0, 119, 255]}

$ printf 'P6 1 2 255\nabcdef' >b.ppm && bash see b.ppm
{"type": "float", "shape": [1, 3, 2, 1], "data": [97, 100, 98, 101, 99, 102]}

$ printf 'P5 2 1 65535\n\x80\x00\xff\xff' >b.pgm && bash see b.pgm
{"type": "float", "shape": [1, 3, 1, 2], "data": [128, 255, 128, 255, 128, 255]}

$ printf 'P5 2 1 65535\n\x80\x00\xff' >cut.pgm && bash see cut.pgm
hone: 'cut.pgm' is not a valid PNM file: it is truncated
[1]

$ printf 'P2 2 1 255\n1 x\n' >cut.pgm && bash see cut.pgm
hone: 'cut.pgm' is not a valid PNM file: samples are missing
[1]

$ printf 'P6 1 2 255' >cut.pgm && bash see cut.pgm
hone: 'cut.pgm' is not a valid PNM file: its header is incomplete
[1]

$ printf 'P6 1 2 70000\nabcdef' >cut.pgm && bash see cut.pgm
hone: 'cut.pgm' is not a valid PNM file: its header is incomplete
[1]

$ printf 'P6 0 2 255\nabcdef' >cut.pgm && bash see cut.pgm
hone: 'cut.pgm': an image of 0x2 pixels cannot be read
[1]

BMP: rows from bottom to top, unless the height is negative; each fills up four bytes.

$ printf 'BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x18\0%24s\x01\x02\x03\0\x04\x05\x06\0' | tr ' ' '\0' >a.bmp && bash see a.bmp
{"type": "float", "shape": [1, 3, 2, 1], "data": [6, 3, 5, 2, 4, 1]}

$ (head -c 22 a.bmp; printf '\xfe\xff\xff\xff\x01\0\x20\0'; tail -c +31 a.bmp) >b.bmp && bash see b.bmp
{"type": "float", "shape": [1, 3, 2, 1], "data": [3, 6, 2, 5, 1, 4]}

$ head -c 61 a.bmp >cut.bmp && bash see cut.bmp
hone: 'cut.bmp' is not a valid BMP file: it is truncated
[1]

$ head -c 40 a.bmp >cut.bmp && bash see cut.bmp
hone: 'cut.bmp' is not a valid BMP file: its header is incomplete
[1]

$ (head -c 28 a.bmp; printf '\x08'; tail -c +30 a.bmp) >few.bmp && bash see few.bmp
hone: 'few.bmp' is a BMP file of an unsupported kind: save it with 24 bits per pixel
[1]

In a model.

$ printf '<ir_version: 9, opset_import: ["" : 20]> g (uint8[n] file) => (uint8[h,w,c] y) { y = ImageDecoder <pixel_format = "BGR"> (file) }' >decode.onnxtxt

$ cp a.ppm a.raw && hone run decode.onnxtxt -i a.raw -o y.json >/dev/null && cat y.json
{"type": "uint8", "shape": [1, 2, 3], "data": [3, 2, 1, 6, 5, 4]}

$ printf 'RIFF' >no.raw && hone run decode.onnxtxt -i no.raw
hone: node #0 (ImageDecoder): 'encoded_stream' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image
[1]
