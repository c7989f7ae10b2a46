$ cp $MODELS/picture.onnxtxt . && printf 'hone run picture.onnxtxt -i "$1" --scale 1 -o y.json >/dev/null && cat y.json\n' >see

Red, green; blue, white.

$ echo UklGRiwAAABXRUJQVlA4TB8AAAAvAUAAAB8gEEjeHzqN+RcQFPwf3fxHZA/gBgwR/Q8BAA== | base64 -d >four.webp && bash see four.webp
{"type": "float", "shape": [1, 3, 2, 2], "data": [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255]}
$ head -c 20 four.webp >cut.webp && bash see cut.webp
hone: 'cut.webp' is not a valid WebP file: its header is damaged
[1]

Transparent pixels are drawn on black.

$ echo UklGRh4AAABXRUJQVlA4TBEAAAAvAQAAEA8Q8x//A4xBRvQ/AAA= | base64 -d >half.webp && bash see half.webp
{"type": "float", "shape": [1, 3, 1, 2], "data": [255, 128, 0, 0, 0, 0]}
