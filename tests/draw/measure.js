// Measures pages in frames of a given size: the texts that lie on each other, leave their frame or are too small.
// JOB is {pages, width, height, moments}; the findings are put into #findings as JSON.
const TOUCH = 1; // pixels by which two texts may touch

function quad(element) {
  const box = element.getBBox(), matrix = element.getScreenCTM();
  const corners = [[box.x, box.y], [box.x + box.width, box.y], [box.x + box.width, box.y + box.height], [box.x, box.y + box.height]];
  return corners.map(([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f]);
}

// Two convex shapes are apart if a line along one of their edges separates them.
function apart(one, other) {
  return [one, other].some((shape) => shape.some(([x, y], place) => {
    const [toX, toY] = shape[(place + 1) % shape.length], long = Math.hypot(toX - x, toY - y) || 1;
    const normal = [(toY - y) / long, (x - toX) / long];
    const reach = (points) => points.map(([px, py]) => px * normal[0] + py * normal[1]);
    const a = reach(one), b = reach(other);
    return Math.max(...a) - TOUCH <= Math.min(...b) || Math.max(...b) - TOUCH <= Math.min(...a);
  }));
}

// checkVisibility() says yes to a text in a group of an SVG that is not displayed.
function isShown(element, view) {
  for (let part = element; part; part = part.parentElement) if (view.getComputedStyle(part).display === "none") return false;
  return element.checkVisibility();
}

function look(view) {
  const { document } = view, found = { overlaps: [], outside: [], small: [], cut: [], texts: 0 };
  const shown = [...document.querySelectorAll(".view:not([hidden]) svg text")].filter((text) => text.textContent && isShown(text, view));
  const texts = shown.map((element) => ({ text: element.firstChild.textContent, quad: quad(element), element }));
  found.texts = texts.length;
  texts.forEach((one, place) => {
    for (const other of texts.slice(0, place)) if (!apart(one.quad, other.quad)) found.overlaps.push(`${one.text} / ${other.text}`);
    const frame = one.element.ownerSVGElement.getBoundingClientRect();
    if (one.quad.some(([x, y]) => x < frame.left - 1 || x > frame.right + 1 || y < frame.top - 1 || y > frame.bottom + 1)) found.outside.push(one.text);
    const { a, b } = one.element.getScreenCTM(), size = parseFloat(view.getComputedStyle(one.element).fontSize) * Math.hypot(a, b);
    if (size < 10.99) found.small.push(`${one.text}: ${size}`);
  });
  for (const element of document.querySelectorAll("body *")) {
    const alone = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!alone || !element.checkVisibility() || element.closest("svg") || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    if (parseFloat(view.getComputedStyle(element).fontSize) < 10.99) found.small.push(element.textContent);
    const box = element.getBoundingClientRect();
    const scrolls = element.closest("#view, option");
    if (!scrolls && (box.left < 0 || box.right > view.innerWidth + 0.5 || element.scrollWidth > element.clientWidth + 1 && element.clientWidth)) {
      found.cut.push(element.textContent);
    }
  }
  const heads = [...document.querySelectorAll(".head")].filter((head) => head.checkVisibility()).map((head) => head.getBoundingClientRect());
  heads.slice(1).forEach((head, place) => { if (heads[place].right > head.left) found.overlaps.push("heads"); });
  const diagram = document.querySelector("#spacetime svg");
  if (diagram.checkVisibility()) found.wide = diagram.getBoundingClientRect().width - document.getElementById("view").clientWidth;
  found.errors = Number(document.body.dataset.errors);
  return found;
}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function measure({ pages, width, height, moments }) {
  const findings = {};
  for (const page of pages) {
    const frame = document.createElement("iframe");
    Object.assign(frame, { width, height, src: `${page}.html#${moments[0]}` });
    frame.style.border = "0";
    await new Promise((done) => { frame.onload = done; document.body.append(frame); });
    for (const moment of moments) {
      frame.contentWindow.location.hash = moment;
      await pause(60);
      findings[`${page}#${moment}`] = look(frame.contentWindow);
    }
    frame.remove();
  }
  return findings;
}

measure(JOB).then((findings) => {
  document.getElementById("findings").textContent = JSON.stringify(findings);
});
