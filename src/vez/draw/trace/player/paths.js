// The drawn paths between processes. A path is a curve from the edge of one process to the edge of another:
// d is its SVG path; at(part) is the point after a part of it, with a unit vector to the right of the direction of
// travel; labels fit better on the right if side is 1, on the left if it is -1.
const LANE = 9; // distance of messages from an edge that goes both ways

function arcWay(centre, radius, start, end) {
  const clockwise = end > start;
  const point = (angle) => [centre.x + radius * Math.cos(angle), centre.y + radius * Math.sin(angle)];
  const [x1, y1] = point(start), [x2, y2] = point(end);
  const large = Math.abs(end - start) > Math.PI ? 1 : 0;
  return {
    side: -1, // messages on a ring are on the left, clockwise ones outside, where there is room for their labels
    d: `M${x1.toFixed(1)} ${y1.toFixed(1)}A${radius} ${radius} 0 ${large} ${clockwise ? 1 : 0} ${x2.toFixed(1)} ${y2.toFixed(1)}`,
    at(part) {
      const angle = start + (end - start) * part, side = clockwise ? -1 : 1;
      const [x, y] = point(angle);
      return { x, y, nx: side * Math.cos(angle), ny: side * Math.sin(angle) };
    },
  };
}

// A curve from one point to another that bends to the right; from and to are parts of the whole curve.
function bowWay(a, b, bow, from, to) {
  const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1;
  const cx = (a.x + b.x) / 2 - 2 * bow * dy / length, cy = (a.y + b.y) / 2 + 2 * bow * dx / length;
  function at(part) {
    const t = from + (to - from) * part, s = 1 - t;
    const tx = s * (cx - a.x) + t * (b.x - cx), ty = s * (cy - a.y) + t * (b.y - cy), long = Math.hypot(tx, ty) || 1;
    return {
      x: s * s * a.x + 2 * s * t * cx + t * t * b.x, y: s * s * a.y + 2 * s * t * cy + t * t * b.y,
      nx: -ty / long, ny: tx / long,
    };
  }
  const points = Array.from({ length: bow ? 17 : 2 }, (_, index, last = bow ? 16 : 1) => at(index / last));
  return { side: 1, d: "M" + points.map(({ x, y }) => x.toFixed(1) + " " + y.toFixed(1)).join("L"), at };
}

function loopWay(node, size) {
  const middle = { x: node.x - node.side[0] * (size + 12), y: node.y - node.side[1] * (size + 12) };
  const start = Math.atan2(node.side[1], node.side[0]);
  const at = (part) => {
    const angle = start + 2 * Math.PI * part, nx = Math.cos(angle), ny = Math.sin(angle);
    return { x: middle.x + 15 * nx, y: middle.y + 15 * ny, nx, ny };
  };
  const points = Array.from({ length: 25 }, (_, index) => at(index / 24));
  return { side: 1, d: "M" + points.map(({ x, y }) => x.toFixed(1) + " " + y.toFixed(1)).join("L"), at };
}

function waysOf(network, size) {
  const { nodes, radius, directed, centre } = network;
  const edges = new Set(network.edges.map(([from, to]) => from + ">" + to));
  const angle = (column) => Math.atan2(nodes[column].y - centre.y, nodes[column].x - centre.x);
  const gap = size + 4;

  function arc(from, to, lane) { // along the ring; an edge is named in clockwise direction
    const clockwise = edges.has(from + ">" + to);
    const radiusHere = radius + (clockwise ? -lane : lane);
    let start = angle(from), end = angle(to);
    if (clockwise) while (end <= start) end += 2 * Math.PI; else while (end >= start) end -= 2 * Math.PI;
    const cut = (clockwise ? 1 : -1) * gap / radiusHere;
    return arcWay(centre, radiusHere, start + cut, end - cut);
  }
  function isBlocked(from, to) { // true if a process is on the straight line
    const a = nodes[from], b = nodes[to], dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy || 1;
    return nodes.some((node, column) => {
      if (column === from || column === to) return false;
      const part = ((node.x - a.x) * dx + (node.y - a.y) * dy) / square;
      return part > 0 && part < 1 && Math.hypot(node.x - a.x - part * dx, node.y - a.y - part * dy) < size + 12;
    });
  }
  function straight(from, to, bow) {
    const a = nodes[from], b = nodes[to], part = Math.min(gap / (Math.hypot(b.x - a.x, b.y - a.y) || 1), 0.45);
    return bowWay(a, b, bow, part, 1 - part);
  }
  const isJoined = (from, to) => edges.has(from + ">" + to) || edges.has(to + ">" + from);
  const known = new Map();
  function message(from, to) {
    if (from === to) return loopWay(nodes[from], size);
    if (network.shape === "ring" && isJoined(from, to)) {
      return arc(from, to, directed ? 0 : -LANE);
    }
    return straight(from, to, isBlocked(from, to) ? size + 24 : LANE);
  }
  return {
    wait: (from, to) => straight(from, to, isBlocked(from, to) ? size + 30 : 20),
    edge: (from, to) => (network.shape === "ring" ? arc(from, to, 0) : straight(from, to, 0)),
    message(from, to) {
      const key = from + ">" + to;
      if (!known.has(key)) known.set(key, message(from, to));
      return known.get(key);
    },
  };
}
