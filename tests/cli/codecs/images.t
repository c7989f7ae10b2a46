$ cp $MODELS/picture.onnxtxt .

Red, green; blue, white.

$ echo iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEklEQVR42mP4z8DAAMIM/4EAAB/uBfvxq7p3AAAAAElFTkSuQmCC | base64 -d >four.png

$ hone run picture.onnxtxt -i four.png -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 2, 2], "data": [1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]}

$ hone run picture.onnxtxt -i four.png --scale 1 --mean 5 --std 1,2,4 --crop 1x2 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 1, 2], "data": [250, -5, -2.5, 125, -1.25, -1.25]}

$ hone run picture.onnxtxt -i four.png --resize 1x1 --scale 1 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 1, 1], "data": [128, 128, 128]}

$ hone run picture.onnxtxt -i four.png --resize 4 --crop 2 --scale 1 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 2, 2], "data": [159, 96, 96, 159, 64, 191, 64, 191, 64, 64, 191, 191]}

$ sed 's/1,3,h,w/1,h,w,1/g; s/float/uint8/g' picture.onnxtxt >gray.onnxtxt && hone run gray.onnxtxt -i four.png -o y.json >/dev/null && cat y.json
{"type": "uint8", "shape": [1, 2, 2, 1], "data": [76, 150, 29, 255]}

$ sed 's/1,3,h,w/1,c,h,w/g' picture.onnxtxt >free.onnxtxt && hone run free.onnxtxt -i four.png
hone: 'image' is float[1,c,h,w]: give --layout nchw or --layout nhwc
[1]

$ hone run free.onnxtxt -i four.png --layout nchw -o y.json >/dev/null && head -c 44 y.json
{"type": "float", "shape": [1, 3, 2, 2], "da

$ hone run picture.onnxtxt --shape image=1x3x8x8 -i four.png
hone: the image has 2x2 pixels, but 'image' is float[1,3,8,8]: add --resize 8x8, or --resize and --crop
[1]

$ hone run picture.onnxtxt -i four.png --crop 3
hone: --crop 3x3 is larger than the image, which has 2x2 pixels
[1]

$ hone run picture.onnxtxt -i four.png --mean 1,2
hone: --mean 1,2: write one number, or three with commas
[1]

$ head -c 40 four.png >cut.png && hone run picture.onnxtxt -i cut.png
hone: 'cut.png' is not a valid PNG file: read beyond end of data
[1]

A gray-brown square.

$ echo /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABAX/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCMAEoP/9k= | base64 -d >square.jpg

$ hone run picture.onnxtxt -i square.jpg --crop 1 --scale 1 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 1, 1], "data": [126, 63, 28]}

$ head -c 270 square.jpg >cut.jpg && hone run picture.onnxtxt -i cut.jpg
hone: 'cut.jpg' is not a valid JPEG file: Premature end of JPEG file
[1]

$ head -c 100 square.jpg >cut.jpg && hone run picture.onnxtxt -i cut.jpg
hone: 'cut.jpg' is not a valid JPEG file: Premature end of JPEG file
[1]

Inks instead of colors.

$ echo /9j/7gAOQWRvYmUAZAAAAAAA/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggLCAkKCgoKCgYICwwLCgwJCgoK/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwD9/Kjr+f8Ar78r/9k= | base64 -d >inks.jpg

$ hone run picture.onnxtxt -i inks.jpg --crop 1 --scale 1 -o y.json >/dev/null && cat y.json
{"type": "float", "shape": [1, 3, 1, 1], "data": [191, 95, 0]}

A header alone does not allocate memory.

$ echo iVBORw0KGgoAAAANSUhEUgAAPoAAAD6ACAIAAADOHEiJAAAAC0lEQVR4nGNgwAcAAB4AAfb96ZYAAAAASUVORK5CYII= | base64 -d >huge.png && hone run picture.onnxtxt -i huge.png
hone: 'huge.png' is damaged: 68 bytes do not have 16000x16000 pixels
[1]
$ echo /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wgALCD6APoABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//aAAgBAQAAAAEP/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABBQJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQAGPwJ//8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPyF//9oACAEBAAAAEP8A/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxB//9k= | base64 -d >huge.jpg && hone run picture.onnxtxt -i huge.jpg
hone: 'huge.jpg' is damaged: 281 bytes do not have 16000x16000 pixels
[1]
