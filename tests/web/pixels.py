"""Pixels of a part of a page, without a library for pictures."""

import base64
import zlib


def decoded(png):
    """Rows of pixels of a PNG of 8 bits without interlacing: [[(red, green, blue), …], …]."""
    at, width, height, channels, packed = 8, 0, 0, 0, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        content = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = int.from_bytes(content[:4], "big"), int.from_bytes(content[4:8], "big")
            channels = {2: 3, 6: 4}[content[9]]
        if kind == b"IDAT":
            packed += content
        at += 12 + size
    data = zlib.decompress(packed)
    stride = width * channels
    before, rows = bytearray(stride), []
    for y in range(height):
        begin = y * (stride + 1)
        rule, line = data[begin], bytearray(data[begin + 1:begin + 1 + stride])
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            line[i] = (line[i] + predicted(rule, left, before[i], corner)) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, stride, channels)])
        before = line
    return rows


def predicted(rule, left, above, corner):
    """What a filter of PNG adds to a byte."""
    if rule < 3:
        return (0, left, above)[rule]
    if rule == 3:
        return (left + above) // 2
    estimate = left + above - corner
    return min((left, above, corner), key=lambda value: abs(estimate - value))


def of_element(browser, script, scale=4):
    """Pixels of an element, without its edge, as many times larger."""
    x, y, width, height = browser.evaluate(f"(() => {{ const r = ({script}).getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]; }})()")
    picture = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           clip={"x": x + 1.5, "y": y + 1.5, "width": width - 3, "height": height - 3, "scale": scale})
    return decoded(base64.b64decode(picture["data"]))


def grey(pixel):
    """Relative luminance, 0 to 1, as WCAG has it."""
    linear = [value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in pixel]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
