"""Networks for images: grouped, dense and shuffled convolutions, windows of attention, detection, segmentation, volumes."""

import numpy

from model_builder import gelu, leaky_relu, relu, silu


def image(g, batch, size, channels=3):
    return g.input("input", [batch, channels, size, size])


def classify(g, x, classes=1000):
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.linear(x, classes), "logits")


def bottleneck(g, x, width, channels, stride, groups=1, squeeze=0):
    """1x1, 3x3 in groups, 1x1, with squeeze and excitation to `squeeze` channels."""
    y = g.conv(x, width, 1, act=relu)
    y = g.conv(y, width, 3, stride, groups=groups, act=relu)
    if squeeze:
        y = g.op("Mul", excite(g, y, squeeze), y)
    y = g.conv(y, channels, 1, gain=0.5)
    if stride > 1 or g.shape(x)[1] != channels:
        x = g.conv(x, channels, 1, stride)
    return relu(g, g.op("Add", y, x))


def excite(g, x, squeeze):
    y = g.conv(g.op("GlobalAveragePool", x), squeeze, 1, act=relu)
    return g.op("Sigmoid", g.conv(y, g.shape(x)[1], 1))


def basic(g, x, channels, stride, dilation=1):
    """Two 3x3 (3x3x3) convolutions around a shortcut."""
    y = g.conv(x, channels, 3, stride, dilation=dilation, act=relu)
    y = g.conv(y, channels, 3, dilation=dilation, gain=0.5)
    if stride > 1 or g.shape(x)[1] != channels:
        x = g.conv(x, channels, 1, stride)
    return relu(g, g.op("Add", y, x))


def max_pool(g, x, kernel, stride, pad=0, ceil_mode=0):
    n = len(g.shape(x)) - 2
    kernel, stride = ([v] * n if isinstance(v, int) else v for v in (kernel, stride))
    return g.op("MaxPool", x, kernel_shape=kernel, strides=stride, pads=[pad] * 2 * n, ceil_mode=ceil_mode)


def stem(g, x, channels=64):
    return max_pool(g, g.conv(x, channels, 7, 2, act=relu), 3, 2, 1)


def resnext50_32x4d(g, batch):
    x = stem(g, image(g, batch, 224))
    for width, depth, stride in (128, 3, 1), (256, 4, 2), (512, 6, 2), (1024, 3, 2):
        for i in range(depth):
            x = bottleneck(g, x, width, width * 2, stride if i == 0 else 1, groups=32)
    classify(g, x)


def regnet_y_800mf(g, batch):
    x = g.conv(image(g, batch, 224), 32, 3, 2, act=relu)
    for width, depth in (64, 1), (144, 3), (320, 8), (784, 2):
        for i in range(depth):
            x = bottleneck(g, x, width, width, 2 if i == 0 else 1, groups=width // 16, squeeze=g.shape(x)[1] // 4)
    classify(g, x)


def densenet121(g, batch):
    x = stem(g, image(g, batch, 224))
    for depth in 6, 12, 24, 16:
        parts = [x]
        for _ in range(depth):
            y = g.op("Concat", *parts, axis=1) if len(parts) > 1 else x
            y = g.conv(relu(g, g.batch_norm(y)), 128, 1, act=relu)
            parts.append(g.conv(y, 32, 3, bias=False))
        x = relu(g, g.batch_norm(g.op("Concat", *parts, axis=1)))
        if depth != 16:
            x = g.conv(x, g.shape(x)[1] // 2, 1, bias=False)
            x = g.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    classify(g, x)


def shuffle_channels(g, x, groups=2):
    b, c, h, w = g.shape(x)
    x = g.transpose(g.reshape(x, b, groups, c // groups, h, w), 0, 2, 1, 3, 4)
    return g.reshape(x, b, c, h, w)


def shufflenet_v2(g, batch):
    def branch(x, channels, stride):
        x = g.conv(x, channels, 1, act=relu)
        return g.conv(g.conv(x, channels, 3, stride, groups=channels), channels, 1, act=relu)

    x = max_pool(g, g.conv(image(g, batch, 224), 24, 3, 2, act=relu), 3, 2, 1)
    for channels, depth in (116, 4), (232, 8), (464, 4):
        half = channels // 2
        for i in range(depth):
            if i == 0:
                left = g.conv(g.conv(x, g.shape(x)[1], 3, 2, groups=g.shape(x)[1]), half, 1, act=relu)
                right = branch(x, half, 2)
            else:
                left, right = g.split(x, [half, half], 1)
                right = branch(right, half, 1)
            x = shuffle_channels(g, g.op("Concat", left, right, axis=1))
    classify(g, g.conv(x, 1024, 1, act=relu))


def inception_v3(g, batch):
    def conv(x, channels, kernel, stride=1, pad=None):
        return g.conv(x, channels, kernel, stride, pad, act=relu)

    def chain(x, *layers):
        for layer in layers:
            x = conv(x, *layer)
        return x

    def average(x):
        return g.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=1)

    def join(*parts):
        return g.op("Concat", *parts, axis=1)

    x = chain(image(g, batch, 299), (32, 3, 2, 0), (32, 3, 1, 0), (64, 3))
    x = max_pool(g, chain(max_pool(g, x, 3, 2), (80, 1), (192, 3, 1, 0)), 3, 2)
    for pooled in 32, 64, 64:
        x = join(conv(x, 64, 1), chain(x, (48, 1), (64, 5)), chain(x, (64, 1), (96, 3), (96, 3)), conv(average(x), pooled, 1))
    x = join(conv(x, 384, 3, 2, 0), chain(x, (64, 1), (96, 3), (96, 3, 2, 0)), max_pool(g, x, 3, 2))
    wide, high = [1, 7], [7, 1]
    for c in 128, 160, 160, 192:
        x = join(conv(x, 192, 1), chain(x, (c, 1), (c, wide), (192, high)),
                 chain(x, (c, 1), (c, high), (c, wide), (c, high), (192, wide)), conv(average(x), 192, 1))
    x = join(chain(x, (192, 1), (320, 3, 2, 0)), chain(x, (192, 1), (192, wide), (192, high), (192, 3, 2, 0)), max_pool(g, x, 3, 2))
    for _ in range(2):
        y, z = conv(x, 384, 1), chain(x, (448, 1), (384, 3))
        x = join(conv(x, 320, 1), join(conv(y, 384, [1, 3]), conv(y, 384, [3, 1])),
                 join(conv(z, 384, [1, 3]), conv(z, 384, [3, 1])), conv(average(x), 192, 1))
    classify(g, x)


def convnext_tiny(g, batch):
    def norm_2d(x):
        return g.transpose(g.norm(g.transpose(x, 0, 2, 3, 1), 1e-6), 0, 3, 1, 2)

    x = norm_2d(g.conv(image(g, batch, 224), 96, 4, 4, 0))
    for channels, depth in (96, 3), (192, 3), (384, 9), (768, 3):
        if channels > 96:
            x = g.conv(norm_2d(x), channels, 2, 2, 0)
        for _ in range(depth):
            y = g.norm(g.transpose(g.conv(x, channels, 7, groups=channels), 0, 2, 3, 1), 1e-6)
            y = g.linear(g.linear(y, 4 * channels, act=gelu), channels)
            y = g.op("Mul", g.constant(numpy.full((channels, 1, 1), 0.3, numpy.float32)), g.transpose(y, 0, 3, 1, 2))
            x = g.op("Add", y, x)
    x = g.op("Flatten", norm_2d(g.op("GlobalAveragePool", x)), axis=1)
    g.output(g.linear(x, 1000), "logits")


# ---- windows of attention ------------------------------------------------------------------------

def roll(g, x, by):
    """torch.roll of the rows and the columns of [batch, rows, columns, channels]."""
    for axis in 1, 2:
        x = g.op("Concat", g.slice(x, axis, -by, 2 ** 63 - 1), g.slice(x, axis, 0, -by), axis=axis)
    return x


def window_mask(size, window, shift):
    parts = numpy.zeros((size, size), numpy.int64)
    cuts = [slice(0, -window), slice(-window, -shift), slice(-shift, None)]
    for i, rows in enumerate(cuts):
        for j, columns in enumerate(cuts):
            parts[rows, columns] = 3 * i + j
    n = size // window
    parts = parts.reshape(n, window, n, window).transpose(0, 2, 1, 3).reshape(n * n, -1)
    return numpy.where(parts[:, None] == parts[:, :, None], 0, -100).astype(numpy.float32)[None, :, None]


def window_attention(g, x, heads, window, shift):
    b, size, _, c = g.shape(x)
    n, area = size // window, window * window
    x = roll(g, x, -shift) if shift else x
    x = g.transpose(g.reshape(x, b, n, window, n, window, c), 0, 1, 3, 2, 4, 5)
    qkv = g.linear(g.reshape(x, b * n * n, area, c), 3 * c)
    qkv = g.transpose(g.reshape(qkv, b * n * n, area, 3, heads, c // heads), 2, 0, 3, 1, 4)
    q, k, v = (g.op("Gather", qkv, numpy.int64(i), axis=0) for i in range(3))
    scores = g.op("MatMul", g.op("Mul", q, (c // heads) ** -0.5), g.transpose(k, 0, 1, 3, 2))
    scores = g.op("Add", scores, g.weight(1, heads, area, area, fan_in=1))
    if shift:
        scores = g.reshape(scores, b, n * n, heads, area, area)
        scores = g.reshape(g.op("Add", scores, window_mask(size, window, shift)[:, :, 0, None]), -1, heads, area, area)
    x = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    x = g.linear(g.reshape(g.transpose(x, 0, 2, 1, 3), b * n * n, area, c), c)
    x = g.transpose(g.reshape(x, b, n, n, window, window, c), 0, 1, 3, 2, 4, 5)
    x = g.reshape(x, b, size, size, c)
    return roll(g, x, shift) if shift else x


def swin_t(g, batch):
    x = g.norm(g.transpose(g.conv(image(g, batch, 224), 96, 4, 4, 0), 0, 2, 3, 1))
    for stage, depth in enumerate((2, 2, 6, 2)):
        if stage:
            rows = [g.slice(x, 1, i, 2 ** 63 - 1, 2) for i in (0, 1)]
            x = g.op("Concat", *(g.slice(rows[i], 2, j, 2 ** 63 - 1, 2) for j in (0, 1) for i in (0, 1)), axis=-1)
            x = g.linear(g.norm(x), g.shape(x)[-1] // 2, bias=False)
        size, c = g.shape(x)[2:]
        for i in range(depth):
            x = g.op("Add", x, window_attention(g, g.norm(x), 3 << stage, 7, 3 * (i % 2) if size > 7 else 0))
            x = g.op("Add", x, g.linear(g.linear(g.norm(x), 4 * c, act=gelu), c))
    classify(g, g.transpose(g.norm(x), 0, 3, 1, 2))


def mlp_mixer_s16(g, batch):
    x = g.conv(image(g, batch, 224), 512, 16, 16, 0)
    x = g.transpose(g.reshape(x, batch, 512, 196), 0, 2, 1)
    for _ in range(8):
        y = g.linear(g.linear(g.transpose(g.norm(x), 0, 2, 1), 256, act=gelu), 196)
        x = g.op("Add", x, g.transpose(y, 0, 2, 1))
        x = g.op("Add", x, g.linear(g.linear(g.norm(x), 2048, act=gelu), 512))
    g.output(g.linear(g.op("ReduceMean", g.norm(x), axes=[1], keepdims=0), 1000), "logits")


# ---- detection -----------------------------------------------------------------------------------

def cross_stage(g, x, channels, depth, shortcut=True):
    """YOLOv5's C3."""
    half = channels // 2
    y = g.conv(x, half, 1, act=silu)
    for _ in range(depth):
        z = g.conv(g.conv(y, half, 1, act=silu), half, 3, act=silu, gain=1.0)
        y = g.op("Add", y, z) if shortcut else z
    return g.conv(g.op("Concat", y, g.conv(x, half, 1, act=silu), axis=1), channels, 1, act=silu)


def split_stage(g, x, channels, depth, shortcut=True):
    """YOLOv8's C2f."""
    half = channels // 2
    parts = g.split(g.conv(x, channels, 1, act=silu), [half, half], 1)
    for _ in range(depth):
        y = g.conv(g.conv(parts[-1], half, 3, act=silu), half, 3, act=silu, gain=1.0)
        parts.append(g.op("Add", parts[-1], y) if shortcut else y)
    return g.conv(g.op("Concat", *parts, axis=1), channels, 1, act=silu)


def pyramid_pool(g, x, channels):
    """YOLO's SPPF."""
    parts = [g.conv(x, channels // 2, 1, act=silu)]
    for _ in range(3):
        parts.append(max_pool(g, parts[-1], 5, 1, 2))
    return g.conv(g.op("Concat", *parts, axis=1), channels, 1, act=silu)


def yolo_levels(g, x, widths, depths, first, stage, lateral):
    """Maps of three sizes: backbone, pyramid down, pyramid up. `lateral` is YOLOv5's 1x1 convolution on the way."""
    def step(y, channels):
        return g.conv(y, channels, 1, act=silu) if lateral else y

    def join(*parts):
        return g.op("Concat", *parts, axis=1)

    x, maps = first(x), []
    for width, depth in zip(widths, depths):
        x = stage(g, g.conv(x, width, 3, 2, act=silu), width, depth)
        maps.append(x)
    n, last = depths[0], pyramid_pool(g, x, widths[-1])
    high = step(last, widths[2])
    middle = step(stage(g, join(g.resize(high, 2), maps[2]), widths[2], n, False), widths[1])
    small = stage(g, join(g.resize(middle, 2), maps[1]), widths[1], n, False)
    middle = stage(g, join(g.conv(small, widths[1], 3, 2, act=silu), middle), widths[2], n, False)
    high = stage(g, join(g.conv(middle, widths[2], 3, 2, act=silu), high), widths[3], n, False)
    return small, middle, high


def grid(size):
    y, x = numpy.meshgrid(numpy.arange(size, dtype=numpy.float32), numpy.arange(size, dtype=numpy.float32), indexing="ij")
    return numpy.stack((x, y), -1)


def yolov5s(g, batch, size=640):
    def first(x):
        return g.conv(x, 32, 6, 2, 2, act=silu)

    found = []
    for y in yolo_levels(g, image(g, batch, size), (64, 128, 256, 512), (1, 2, 3, 1), first, cross_stage, True):
        n = g.shape(y)[2]
        y = g.transpose(g.reshape(g.conv(y, 255, 1), batch, 3, 85, n, n), 0, 1, 3, 4, 2)
        xy, wh, scores = g.split(g.op("Sigmoid", y), [2, 2, 81], 4)
        xy = g.op("Mul", g.op("Add", g.op("Mul", xy, 2.0), grid(n)[None, None] - 0.5), float(size // n))
        anchors = g.random.uniform(10, 100, (1, 3, n, n, 2)).astype(numpy.float32)
        wh = g.op("Mul", g.op("Pow", g.op("Mul", wh, 2.0), 2.0), anchors)
        found.append(g.reshape(g.op("Concat", xy, wh, scores, axis=4), batch, 3 * n * n, 85))
    g.output(g.op("Concat", *found, axis=1), "detections")


def yolov8n(g, batch, size=640):
    def first(x):
        return g.conv(x, 16, 3, 2, act=silu)

    found, points, strides = [], [], []
    for y in yolo_levels(g, image(g, batch, size), (32, 64, 128, 256), (1, 2, 2, 1), first, split_stage, False):
        n = g.shape(y)[2]
        box, scores = (g.conv(g.conv(g.conv(y, c, 3, act=silu), c, 3, act=silu), out, 1) for c, out in ((64, 64), (80, 80)))
        found.append(g.reshape(g.op("Concat", box, scores, axis=1), batch, 144, n * n))
        points.append((grid(n) + 0.5).reshape(-1, 2).T)
        strides.append(numpy.full(n * n, size // n, numpy.float32))
    box, scores = g.split(g.op("Concat", *found, axis=2), [64, 80], 1)
    total = g.shape(box)[2]
    box = g.op("Softmax", g.transpose(g.reshape(box, batch, 4, 16, total), 0, 2, 1, 3), axis=1)
    weights = g.constant(numpy.arange(16, dtype=numpy.float32).reshape(1, 16, 1, 1))
    box = g.reshape(g.op("Conv", box, weights, kernel_shape=[1, 1]), batch, 4, total)
    low, high = g.split(box, [2, 2], 1)
    points = g.constant(numpy.concatenate(points, 1)[None])
    low, high = g.op("Sub", points, low), g.op("Add", points, high)
    box = g.op("Concat", g.op("Div", g.op("Add", low, high), 2.0), g.op("Sub", high, low), axis=1)
    box = g.op("Mul", box, numpy.concatenate(strides)[None])
    g.output(g.op("Concat", box, g.op("Sigmoid", scores), axis=1), "detections")


def resnet18_maps(g, x, dilated=False):
    x, maps = stem(g, x), []
    for channels in 64, 128, 256, 512:
        first = channels == 64 or dilated and channels > 128
        dilation = channels // 128 if dilated and channels > 128 else 1
        x = basic(g, basic(g, x, channels, 1 if first else 2, dilation), channels, 1, dilation)
        maps.append(x)
    return maps


def fcos_r18_fpn(g, batch, size=320):
    """A pyramid of features and towers with group normalization over each level."""
    maps, last, levels = resnet18_maps(g, image(g, batch, size))[1:], None, []
    for y in reversed(maps):
        y = g.conv(y, 128, 1)
        last = y if last is None else g.op("Add", y, g.resize(last, size=g.shape(y)[2:]))
        levels.append(g.conv(last, 128, 3))
    levels.append(g.conv(levels[0], 128, 3, 2))
    parts = []
    for y in levels:
        n = g.shape(y)[2]
        towers = []
        for out in 80, 5:
            z = y
            for _ in range(2):
                z = relu(g, g.group_norm(g.conv(z, 128, 3), 32))
            z = g.reshape(g.conv(z, out, 3), batch, 1, out, n, n)
            towers.append(g.reshape(g.transpose(z, 0, 3, 4, 1, 2), batch, -1, out))
        parts.append(g.op("Concat", g.op("Sigmoid", towers[0]), relu(g, towers[1]), axis=2))
    g.output(g.op("Concat", *parts, axis=1), "detections")


# ---- maps to maps --------------------------------------------------------------------------------

def deeplab_r18(g, batch, size=256):
    x = resnet18_maps(g, image(g, batch, size), dilated=True)[-1]
    parts = [g.conv(x, 256, 1, act=relu)] + [g.conv(x, 256, 3, dilation=d, act=relu) for d in (12, 24, 36)]
    pooled = g.conv(g.op("GlobalAveragePool", x), 256, 1, act=relu)
    parts.append(g.resize(pooled, size=g.shape(x)[2:], mode="linear"))
    x = g.conv(g.conv(g.op("Concat", *parts, axis=1), 256, 1, act=relu), 256, 3, act=relu)
    g.output(g.resize(g.conv(x, 21, 1), size=[size, size], mode="linear"), "classes")


def unet(g, batch, size=256):
    def twice(x, channels):
        return g.conv(g.conv(x, channels, 3, act=relu), channels, 3, act=relu)

    x, skips = image(g, batch, size), []
    for channels in 32, 64, 128, 256:
        skips.append(twice(x, channels))
        x = max_pool(g, skips[-1], 2, 2)
    x = twice(x, 512)
    for skip in reversed(skips):
        channels = g.shape(skip)[1]
        x = twice(g.op("Concat", skip, g.conv_transpose(x, channels, 2, 2), axis=1), channels)
    g.output(g.conv(x, 2, 1), "classes")


def dcgan_generator(g, batch):
    x = g.conv_transpose(g.input("input", [batch, 100, 1, 1]), 512, 4, 1, bias=False)
    for channels in 256, 128, 64:
        x = g.conv_transpose(relu(g, g.batch_norm(x)), channels, 4, 2, 1, bias=False)
    x = g.conv_transpose(relu(g, g.batch_norm(x)), 3, 4, 2, 1, bias=False)
    g.output(g.op("Tanh", x), "image")


def diffusion_unet(g, batch, size=32):
    """Residual blocks with group normalization and the time, attention over pixels and over a prompt."""
    x, time = image(g, batch, size, 4), g.input("time", [batch, 128])
    prompt = g.input("prompt", [batch, 77, 256])
    time = silu(g, g.linear(g.linear(time, 512, act=silu), 512))

    def residual(x, channels):
        y = g.conv(silu(g, g.group_norm(x, 32)), channels, 3)
        y = g.op("Add", y, g.op("Unsqueeze", g.op("Unsqueeze", g.linear(time, channels), [2]), [3]))
        y = g.conv(silu(g, g.group_norm(y, 32)), channels, 3, gain=0.5)
        return g.op("Add", x if g.shape(x)[1] == channels else g.conv(x, channels, 1), y)

    def attend(x, keys, heads):
        c = g.shape(x)[2]
        q, k, v = (g.heads(g.linear(y, c, bias=False), heads) for y in (x, keys, keys))
        scores = g.op("Mul", g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2)), (c // heads) ** -0.5)
        return g.linear(g.unheads(g.op("MatMul", g.op("Softmax", scores, axis=-1), v)), c)

    def transformer(x):
        b, c, h, w = g.shape(x)
        y = g.conv(g.group_norm(x, 32), c, 1)
        y = g.reshape(g.transpose(y, 0, 2, 3, 1), b, h * w, c)
        z = g.norm(y)
        y = g.op("Add", attend(z, z, 8), y)
        y = g.op("Add", attend(g.norm(y), prompt, 8), y)
        value, gate = g.split(g.linear(g.norm(y), 8 * c), [4 * c, 4 * c], -1)
        y = g.op("Add", g.linear(g.op("Mul", value, gelu(g, gate)), c), y)
        y = g.transpose(g.reshape(y, b, h, w, c), 0, 3, 1, 2)
        return g.op("Add", g.conv(y, c, 1), x)

    x = g.conv(x, 128, 3)
    skips = [x]
    for channels in 128, 256:
        x = transformer(residual(x, channels))
        skips.append(x)
        x = g.conv(x, channels, 3, 2)
    x = residual(transformer(residual(x, 256)), 256)
    for channels in 256, 128:
        x = g.conv(g.resize(x, 2), channels, 3)
        x = transformer(residual(g.op("Concat", x, skips.pop(), axis=1), channels))
    x = residual(g.op("Concat", x, skips.pop(), axis=1), 128)
    g.output(g.conv(silu(g, g.group_norm(x, 32)), 4, 3), "noise")


def r3d_18(g, batch):
    x = g.conv(g.input("input", [batch, 3, 8, 112, 112]), 64, [3, 7, 7], [1, 2, 2], [1, 3, 3], act=relu)
    for channels in 64, 128, 256, 512:
        x = basic(g, basic(g, x, channels, 1 if channels == 64 else 2), channels, 1)
    classify(g, x, 400)


def crnn(g, batch):
    """Lines of text: convolutions, then LSTMs in both directions."""
    x = max_pool(g, g.conv(g.input("input", [batch, 1, 32, 128]), 64, 3, act=relu), 2, 2)
    x = max_pool(g, g.conv(x, 128, 3, act=relu), 2, 2)
    x = g.conv(g.conv(x, 256, 3, act=relu), 256, 3, act=relu)
    x = g.conv(max_pool(g, x, [2, 1], [2, 1]), 512, 3, act=relu)
    x = max_pool(g, g.conv(x, 512, 3, act=relu), [2, 1], [2, 1])
    x = g.conv(x, 512, 2, pad=0, act=relu)
    x = g.transpose(g.op("Squeeze", x, [2]), 2, 0, 1)
    for _ in range(2):
        x = bidirectional_lstm(g, x, 256)
    g.output(g.linear(x, 37), "letters")


def bidirectional_lstm(g, x, hidden):
    time, batch, size = g.shape(x)
    state = numpy.zeros((2, batch, hidden), numpy.float32)
    y = g.op("LSTM", x, g.weight(2, 4 * hidden, size), g.weight(2, 4 * hidden, hidden), g.vector((2, 8 * hidden)),
             None, state, state, hidden_size=hidden, direction="bidirectional")
    return g.reshape(g.transpose(y, 0, 2, 1, 3), 0, 0, -1)


def darknet_tiny(g, batch, size=416):
    """YOLOv3-tiny: 3x3 convolutions with LeakyRelu, and a pool with stride 1."""
    x = image(g, batch, size)
    for channels in 16, 32, 64, 128:
        x = max_pool(g, g.conv(x, channels, 3, act=leaky_relu), 2, 2)
    fine = g.conv(x, 256, 3, act=leaky_relu)
    x = g.conv(max_pool(g, fine, 2, 2), 512, 3, act=leaky_relu)
    x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1])
    x = g.conv(g.conv(x, 1024, 3, act=leaky_relu), 256, 1, act=leaky_relu)
    y = g.resize(g.conv(x, 128, 1, act=leaky_relu), 2)
    y = g.conv(g.op("Concat", y, fine, axis=1), 256, 3, act=leaky_relu)
    for z, channels, name in (g.conv(x, 512, 3, act=leaky_relu), 255, "coarse"), (y, 255, "fine"):
        g.output(g.conv(z, channels, 1), name)


NETWORKS = [resnext50_32x4d, regnet_y_800mf, densenet121, shufflenet_v2, inception_v3, convnext_tiny, swin_t, mlp_mixer_s16,
            yolov5s, yolov8n, darknet_tiny, fcos_r18_fpn, deeplab_r18, unet, dcgan_generator, diffusion_unet, r3d_18, crnn]
