#!/usr/bin/env python3
"""Writes pillow.tsv: small images and the pixels that Pillow makes of them. Usage: make_pillow_cases.py > pillow.tsv, with Pillow 13 and numpy.

A row is: name, operation, file in hexadecimal digits, height, width, RGB pixels in hexadecimal digits. Operations:
    decode                          Image.open(file).convert("RGB")
    resize FILTER HEIGHT WIDTH      then resize
    middle SHORTER SIDE             then torchvision's Resize(SHORTER, bicubic) and CenterCrop(SIDE)"""
import io
import random
import struct
import zlib

import numpy
from PIL import Image

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}
draw = random.Random(39)


def chunk(kind, data=b""):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, depth, colour, rows, *extra, interlace=0):
    """A PNG of packed rows. Adam7 for an image of one pixel is the image itself."""
    header = struct.pack(">IIBBBBB", width, len(rows), depth, colour, 0, 0, interlace)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(extra) + chunk(b"IDAT", data) + chunk(b"IEND")


def adam7(pixels):
    """An interlaced RGB file of an array of height x width x 3."""
    data = b""
    for y, x, down, right in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        for row in pixels[y::down, x::right]:
            data += b"\0" + row.tobytes() if row.size else b""
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND")


def noise(height, width, channels=3):
    return numpy.array([draw.randrange(256) for _ in range(height * width * channels)], numpy.uint8).reshape(height, width, channels)


def line_art(height, width):
    return numpy.array([draw.choice((0, 255)) for _ in range(height * width)], numpy.uint8).reshape(height, width, 1).repeat(3, 2)


def saved(pixels, format="PNG", mode=None, **options):
    file = io.BytesIO()
    Image.fromarray(pixels.squeeze(), mode).save(file, format, **options)
    return file.getvalue()


def wide(*values):
    return struct.pack(f">{len(values)}H", *values)


def files():
    gamma, linear = chunk(b"gAMA", struct.pack(">I", 45455)), chunk(b"gAMA", struct.pack(">I", 100000))
    rgb = noise(3, 4)
    rows = [row.tobytes() for row in rgb]
    palette = chunk(b"PLTE", bytes(noise(1, 4).tobytes()))
    yield "rgb", png(4, 8, 2, rows)
    yield "gamma-of-screens", png(4, 8, 2, rows, gamma)
    yield "linear-gamma", png(4, 8, 2, rows, linear)
    yield "grey-linear-gamma", png(4, 8, 0, [bytes([0, 9, 128, 255])], linear)
    yield "srgb-chunk", png(4, 8, 2, rows, chunk(b"sRGB", b"\0"), gamma)
    yield "chromaticities", png(4, 8, 2, rows, chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)), linear)
    yield "significant-bits", png(4, 8, 2, rows, chunk(b"sBIT", b"\5\6\5"))
    yield "background", png(2, 8, 6, [bytes([200, 100, 50, 0, 1, 2, 3, 128])], chunk(b"bKGD", wide(9, 9, 9)))
    yield "alpha", png(3, 8, 6, [bytes([255, 255, 255, 0, 10, 20, 30, 128, 1, 2, 3, 255])])
    yield "alpha-linear-gamma", png(2, 8, 6, [bytes([255, 255, 255, 0, 10, 20, 30, 128])], linear)
    yield "grey-alpha", png(3, 8, 4, [bytes([255, 0, 77, 128, 3, 255])])
    yield "transparent-grey", png(2, 8, 0, [bytes([5, 1])], chunk(b"tRNS", wide(5)))
    yield "transparent-colour", png(2, 8, 2, [bytes([5, 1, 2, 3, 4, 5])], chunk(b"tRNS", wide(5, 1, 2)))
    yield "palette", png(4, 8, 3, [bytes([3, 1, 0, 2])], palette)
    yield "palette-transparent", png(4, 8, 3, [bytes([3, 1, 0, 2])], palette, chunk(b"tRNS", b"\0\x80\xff"))
    yield "palette-linear-gamma", png(4, 8, 3, [bytes([3, 1, 0, 2])], linear, palette)
    yield "palette-1-bit", png(8, 1, 3, [b"\xa5"], palette)
    yield "palette-2-bits", png(4, 2, 3, [b"\x1b"], palette)
    yield "palette-4-bits", png(3, 4, 3, [b"\x12\x30"], palette)
    yield "palette-index-without-colour", png(2, 8, 3, [bytes([3, 200])], palette)
    yield "grey-1-bit", png(9, 1, 0, [b"\xa5\x80"])
    yield "grey-1-bit-transparent", png(8, 1, 0, [b"\xa5"], chunk(b"tRNS", wide(1)))
    yield "grey-2-bits", png(4, 2, 0, [b"\x1b"])
    yield "grey-4-bits", png(2, 4, 0, [b"\x1b"])
    yield "grey-16-bits", png(6, 16, 0, [wide(0, 100, 255, 256, 40000, 65535)])
    yield "grey-16-bits-transparent", png(2, 16, 0, [wide(100, 256)], chunk(b"tRNS", wide(100)))
    yield "grey-alpha-16-bits", png(2, 16, 4, [wide(0x12FF, 0, 0x80F0, 65535)])
    yield "rgb-16-bits", png(2, 16, 2, [wide(0x12FF, 0x00FF, 0x80F0, 0xFFFF, 0x0080, 0x7F81)])
    yield "rgba-16-bits", png(1, 16, 6, [wide(0x12FF, 0x00FF, 0x80F0, 0)])
    yield "interlaced", adam7(noise(11, 9))
    yield "interlaced-grey-16-bits", png(1, 16, 0, [wide(300)], interlace=1)
    yield "interlaced-palette", png(1, 2, 3, [b"\x80"], palette, interlace=1)
    smooth = numpy.fromfunction(lambda y, x, c: (y * 9 + x * 7 + c * 60) % 256, (13, 19, 3)).astype(numpy.uint8)
    for sampling in (0, 1, 2):
        yield f"jpeg-{('444', '422', '420')[sampling]}", saved(smooth, "JPEG", quality=70, subsampling=sampling)
    yield "jpeg-progressive", saved(smooth, "JPEG", quality=80, progressive=True)
    yield "jpeg-grey", saved(smooth[:, :, :1], "JPEG", quality=80)
    yield "jpeg-inks", saved(noise(8, 8, 4), "JPEG", "CMYK", quality=95)
    turned = Image.Exif()
    turned[0x0112] = 6
    yield "jpeg-turned", saved(smooth, "JPEG", quality=80, exif=turned)
    yield "jpeg-profile", saved(smooth, "JPEG", quality=80, icc_profile=b"not a profile of any use")


def opened(file):
    return Image.open(io.BytesIO(file)).convert("RGB")


def row(name, operation, file, image):
    print(name, operation, file.hex(), image.height, image.width, image.tobytes().hex(), sep="\t")


def main():
    for name, file in files():
        row(name, "decode", file, opened(file))
    for number in range(24):
        height, width = draw.randint(1, 20), draw.randint(1, 20)
        file = saved((line_art if number % 2 else noise)(height, width))
        name, (to_height, to_width) = draw.choice(list(FILTERS)), (draw.randint(1, 20), draw.randint(1, 20))
        row(f"{number}", f"resize {name} {to_height} {to_width}", file, opened(file).resize((to_width, to_height), FILTERS[name]))
    for number in range(24):
        height, width = draw.randint(3, 24), draw.randint(3, 24)
        if number == 0:
            height, width = 450, 3  # A tall strip.
        file = saved((line_art if number % 2 else noise)(height, width))
        shorter = draw.randint(2, 16)
        side, image = draw.randint(1, shorter), opened(file)
        size = [int(shorter * length / min(height, width)) for length in (width, height)]
        image = image.resize(size, FILTERS["bicubic"])
        top, left = (int(round((length - side) / 2.0)) for length in (image.height, image.width))
        row(f"{number}", f"middle {shorter} {side}", file, image.crop((left, top, left + side, top + side)))


main()
