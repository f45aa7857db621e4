"""The figure of docs/price-policy.md."""

COLOURS = {"bid_price": "#009e73", "dual_price, known": "#0072b2", "dual_price, learned": "#56b4e9", "bound": "#d55e00"}


def drawn(bars, title, axis):
    """An SVG with a group of bars for each list; `bars` has their heights by list and then by a label of COLOURS."""
    width, height, left, top, right, bottom = 720, 380, 60, 20, 190, 45
    most = max(max(of_list.values()) for of_list in bars.values()) * 1.05
    group = (width - left - right) / len(bars)
    bar = group / (len(COLOURS) + 1)
    y = lambda points: height - bottom - (height - top - bottom) * points / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><title>{title}</title>', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for half in range(0, int(2 * most) + 1):
        points = half / 2
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(points):.1f}" y2="{y(points):.1f}" stroke="#dddddd"/>'
                     f'<text x="{left - 6}" y="{y(points) + 4:.1f}" text-anchor="end">{points:.1f}</text>')
    parts.append(f'<text x="14" y="{(top + height - bottom) / 2}" text-anchor="middle" transform="rotate(-90 14 '
                 f'{(top + height - bottom) / 2})">{axis}</text>')
    for number, (name, of_list) in enumerate(bars.items()):
        begin = left + group * number + bar / 2
        for place, (label, points) in enumerate(of_list.items()):
            filling = f'fill="{COLOURS[label]}"' if label != "bound" else f'fill="none" stroke="{COLOURS[label]}"'
            parts.append(f'<rect x="{begin + bar * place:.1f}" y="{y(points):.1f}" width="{bar - 2:.1f}" '
                         f'height="{height - bottom - y(points):.1f}" {filling}/>')
        parts.append(f'<text x="{begin + len(COLOURS) / 2 * bar:.1f}" y="{height - bottom + 18}" text-anchor="middle">{name}</text>')
    for number, label in enumerate(COLOURS):
        text = "bound, same prefix" if label == "bound" else label
        filling = f'fill="{COLOURS[label]}"' if label != "bound" else f'fill="none" stroke="{COLOURS[label]}"'
        parts.append(f'<rect x="{width - right + 20}" y="{top + 6 + 20 * number}" width="14" height="10" {filling}/>'
                     f'<text x="{width - right + 42}" y="{top + 16 + 20 * number}">{text}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
