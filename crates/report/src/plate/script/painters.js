// Painters: a canvas and an SVG file, with the same methods.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "Helvetica Neue", Arial, sans-serif';

class CanvasPainter {
  constructor(context) {
    this.context = context;
  }
  /** Draws a line through points, as x and y in turn. NaN interrupts the line. */
  line(points, { color, width = 1, alpha = 1, dash = [] }) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    let isDown = false;
    for (let i = 0; i < points.length; i += 2) {
      const y = points[i + 1];
      if (y !== y) isDown = false;
      else if (isDown) context.lineTo(points[i], y);
      else {
        context.moveTo(points[i], y);
        isDown = true;
      }
    }
    context.stroke();
  }
  rect(x, y, width, height, color, alpha = 1) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
  }
  dot(x, y, radius, { color, alpha = 1, ring = null }) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.fillStyle = color;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    if (!ring) return;
    context.setLineDash([]);
    context.strokeStyle = ring;
    context.lineWidth = 1.5;
    context.stroke();
  }
  text(x, y, text, { color, size = 12, anchor = "start", isVertical = false, isBold = false }) {
    const { context } = this;
    context.save();
    context.globalAlpha = 1;
    context.fillStyle = color;
    context.font = `${isBold ? "600 " : ""}${size}px ${FONT}`;
    context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
    context.translate(x, y);
    if (isVertical) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }
  startClip(x, y, width, height) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
  }
  endClip() {
    this.context.restore();
  }
}

const escapeXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

class SvgPainter {
  parts = [];
  clips = 0;
  line(points, { color, width = 1, alpha = 1, dash = [] }) {
    let path = "";
    let isDown = false;
    for (let i = 0; i < points.length; i += 2) {
      const y = points[i + 1];
      if (y === y) path += `${isDown ? "L" : "M"}${points[i].toFixed(1)} ${y.toFixed(1)}`;
      isDown = y === y;
    }
    const more = `${alpha < 1 ? ` opacity="${alpha.toFixed(2)}"` : ""}${dash.length ? ` stroke-dasharray="${dash}"` : ""}`;
    if (path) this.parts.push(`<path d="${path}" fill="none" stroke="${color}" stroke-width="${width}"${more}/>`);
  }
  rect(x, y, width, height, color, alpha = 1) {
    const more = alpha < 1 ? ` opacity="${alpha.toFixed(2)}"` : "";
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${color}"${more}/>`);
  }
  dot(x, y, radius, { color, alpha = 1, ring = null }) {
    const more = `${alpha < 1 ? ` opacity="${alpha.toFixed(2)}"` : ""}${ring ? ` stroke="${ring}" stroke-width="1.5"` : ""}`;
    this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${color}"${more}/>`);
  }
  text(x, y, text, { color, size = 12, anchor = "start", isVertical = false, isBold = false }) {
    const turn = isVertical ? ` transform="rotate(-90 ${x} ${y})"` : "";
    const bold = isBold ? ' font-weight="600"' : "";
    this.parts.push(`<text x="${x}" y="${y}" font-size="${size}" text-anchor="${anchor}" fill="${color}"${turn}${bold}>${escapeXml(text)}</text>`);
  }
  startClip(x, y, width, height) {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c${this.clips})">`);
  }
  endClip() {
    this.parts.push("</g>");
  }
  toText(width, height, title) {
    const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escapeXml(FONT)}">`;
    return `${head}<title>${escapeXml(title)}</title>${this.parts.join("\n")}</svg>\n`;
  }
}
