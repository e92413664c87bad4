// Texts in the network: their widths, lines and free places. Sizes are pixels of the screen, and boxes are
// [left, top, right, bottom].
const WORDS = 12, LABEL = 11.5, LINE = 14; // sizes of the fonts of statuses and messages; height of a line
const SMALLEST = 11; // no text of the page is smaller
const ruler = document.createElement("canvas").getContext("2d");

function widthOf(text, size, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

function svgText(text, attributes) {
  const made = svgElement("text", attributes);
  made.textContent = text;
  return made;
}

function tooltip(element, text) {
  const title = svgElement("title", {});
  title.textContent = text;
  element.append(title);
}

function overlap(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

function contains(outer, inner) {
  return outer[0] <= inner[0] && outer[1] <= inner[1] && inner[2] <= outer[2] && inner[3] <= outer[3];
}

// A text as lines that are at most so wide, broken between phrases or, in a long phrase, between words; a word that is
// too long is cut.
function linesOf(text, wide, size, weight) {
  const phrases = text.split(/(?<=,) /).filter(Boolean), lines = [];
  for (const piece of phrases.flatMap((phrase) => (widthOf(phrase, size, weight) <= wide ? [phrase] : phrase.split(" ")))) {
    const longer = lines.length ? lines[lines.length - 1] + " " + piece : piece;
    if (lines.length && widthOf(longer, size, weight) <= wide) lines[lines.length - 1] = longer;
    else lines.push(cutTo(piece, wide, size, weight));
  }
  return lines;
}

function cutTo(text, wide, size, weight) {
  while (text.length > 2 && widthOf(text, size, weight) > wide) text = text.slice(0, -2) + "…";
  return text;
}

// The words at a process, as lines: its name if the circle has no room for it, and its status.
function wordsAt(name, status, wide) {
  const lines = [
    ...linesOf(name, wide, WORDS, 700).map((text) => ({ text, weight: 700 })),
    ...linesOf(status, wide, WORDS, 400).map((text) => ({ text, weight: 400 })),
  ];
  return { lines, width: Math.max(0, ...lines.map(({ text, weight }) => widthOf(text, WORDS, weight))), height: LINE * lines.length };
}

// The box of a block of words beside a circle, in a direction: above and below it is centred.
function boxBeside(x, y, size, [dx, dy], block) {
  const middle = Math.abs(dx) < 0.35, far = size + 9;
  const left = middle ? x - block.width / 2 : dx > 0 ? x + dx * far : x + dx * far - block.width;
  const top = middle ? (dy < 0 ? y - far - block.height : y + far)
    : Math.abs(dy) < 0.35 ? y - block.height / 2 : dy < 0 ? y + dy * far - block.height : y + dy * far;
  return [left, top, left + block.width, top + block.height];
}

const SIDES = [[0, 1], [0, -1], [1, 0], [-1, 0]];

// The first free place of a block of words at a process, or null.
function placeWords(place, size, block, taken, room) {
  for (const side of [place.side, ...SIDES]) {
    const box = boxBeside(place.x, place.y, size, side, block);
    if (contains(room, box) && !taken.some((other) => overlap(box, other))) return { box, side };
  }
  return null;
}

const CORNERS = [[1, -1], [-1, -1], [1, 1], [-1, 1]];

// The first free corner of a circle for a small flag, on the edge or outside, or null. It may not cover the name.
function placeFlag({ x, y, inside, font }, size, wide, taken, room) {
  const half = widthOf(inside, font, 700) / 2, name = [x - half, y - font, x + half, y + font / 2];
  for (const far of [0.8, 1.2]) {
    for (const [dx, dy] of CORNERS) {
      const near = x + dx * (size * far - 8.5), left = dx > 0 ? near : near - wide, top = y + dy * size * far - 8.5;
      const box = [left, top, left + wide, top + 17];
      if (contains(room, box) && ![name, ...taken].some((other) => overlap(box, other))) return box;
    }
  }
  return null;
}

const LABEL_PLACES = [[11, 0], [11, 0.3], [11, -0.3], [18, 0], [26, 0], [26, 0.3], [26, -0.3], [40, 0]]; // distance from the path, distance along it

// The shift of a label to one side of its message: fully, so that the path stays free, or centred.
function lean(direction) {
  return Math.max(-1, Math.min(1, direction / 0.35));
}

// Place a label beside the message, on its previous side or the other one, where nothing else is drawn.
function placeLabel(arrow, way, part, taken, room) {
  const text = cutTo(arrow.label, Math.max(120, (room[2] - room[0]) / 3), LABEL, 600), wide = widthOf(text, LABEL, 600);
  const at = way.at(part), first = arrow.side ?? way.side;
  for (const [far, along] of LABEL_PLACES) {
    for (const side of [first, -first]) {
      const x = at.x + side * (at.nx * far + lean(at.nx) * wide / 2) + along * wide;
      const y = at.y + side * (at.ny * far + lean(at.ny) * 6) + 4;
      const box = [x - wide / 2 - 1, y - LABEL, x + wide / 2 + 1, y + 4];
      if (!contains(room, box) || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      arrow.side = side;
      return { text, x: x.toFixed(1), y: y.toFixed(1) };
    }
  }
  return null;
}
