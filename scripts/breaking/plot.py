"""Lines over time as a small SVG, one panel for each measure."""

from html import escape

from scripts.breaking.sampling import MEASURES, Samples

PANEL_WIDTH, PANEL_HEIGHT, MARGIN, LEGEND = 400, 170, 46, 24
COLOURS = ("#0b6e99", "#c4541a", "#4d7c0f", "#8b3fa0", "#b08900", "#5b6470", "#c2185b", "#00796b")


def draw(samples: Samples) -> str:
    names = list(samples.series["memory"])
    colours = dict(zip(names, COLOURS, strict=False))
    width, height = 2 * (PANEL_WIDTH + MARGIN) + MARGIN, 2 * (PANEL_HEIGHT + MARGIN) + MARGIN + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (measure, title) in enumerate(MEASURES.items()):
        left = MARGIN + (number % 2) * (PANEL_WIDTH + MARGIN)
        top = MARGIN + (number // 2) * (PANEL_HEIGHT + MARGIN)
        parts += _panel(title, samples.series[measure], colours, left, top)
    for number, (name, colour) in enumerate(colours.items()):
        left = MARGIN + number * 100
        parts.append(f'<rect x="{left}" y="{height - LEGEND}" width="12" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + 18}" y="{height - LEGEND + 6}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    title: str, lines: dict[str, list[tuple[float, float]]], colours: dict[str, str], left: int, top: int
) -> list[str]:
    points = [point for line in lines.values() for point in line]
    last = max((minute for minute, _ in points), default=1) or 1
    highest = max((value for _, value in points), default=1) * 1.1 or 1
    bottom = top + PANEL_HEIGHT
    parts = [
        f'<text x="{left}" y="{top - 8}" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{left},{top}V{bottom}H{left + PANEL_WIDTH}" fill="none" stroke="#888888"/>',
        f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">{highest:.0f}</text>',
        f'<text x="{left - 4}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{left + PANEL_WIDTH}" y="{bottom + 14}" text-anchor="end">{last:.0f} minutes</text>',
    ]
    for name, line in lines.items():
        path = " ".join(
            f"{left + minute / last * PANEL_WIDTH:.1f},{bottom - value / highest * PANEL_HEIGHT:.1f}"
            for minute, value in line
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
    return parts
