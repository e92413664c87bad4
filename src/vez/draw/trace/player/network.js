// The network view: the positions of processes, and the messages in transit between them, at one moment.
const MAX_WORDS = 30; // characters of a status or label; the whole text is in the tooltip

const LABEL_PLACES = [[11, 0], [11, 0.4], [11, -0.4], [18, 0], [26, 0], [26, 0.4], [26, -0.4], [40, 0]]; // distance from the path, distance along it

function short(text) {
  return text.length > MAX_WORDS ? text.slice(0, MAX_WORDS - 1) + "…" : text;
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

// Text at a process, on the side where there is room.
function beside(node, size) {
  const [dx, dy] = node.side;
  const x = node.x + dx * (size + 13), y = node.y + dy * (size + 11);
  return { x, y: y + (dy > 0.35 ? 10 : dy < -0.35 ? -1 : 4), anchor: Math.abs(dx) < 0.35 ? "middle" : dx > 0 ? "start" : "end" };
}

function textBox(x, y, text, anchor, size) {
  const wide = text.length * size * 0.56, left = anchor === "middle" ? x - wide / 2 : anchor === "end" ? x - wide : x;
  return [left - 2, y - size, left + wide + 2, y + 4];
}

function overlap(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

function contains(outer, inner) {
  return outer[0] <= inner[0] && outer[1] <= inner[1] && inner[2] <= outer[2] && inner[3] <= outer[3];
}

function networkNodes(data, size, parent) {
  return data.network.nodes.map((place, column) => {
    const group = svgElement("g", { class: "node", "data-process": data.ids[column] });
    const at = { cx: place.x, cy: place.y };
    const id = svgText(data.names[column], { class: "name", x: place.x, y: place.y });
    id.style.fontSize = Math.min(15, 2.6 * size / Math.max(data.names[column].length, 1)) + "px";
    const crown = svgElement("path", {
      class: "node-crown", d: `M${place.x - 8} ${place.y - size + 12}l-1.500 -9l5 4l4.500 -6l4.500 6l5 -4l-1.500 9z`,
    });
    const cross = svgElement("path", {
      class: "node-cross", d: `M${place.x - size * 0.62} ${place.y - size * 0.62}l${size * 1.24} ${size * 1.24}m0 ${-size * 1.24}l${-size * 1.24} ${size * 1.24}`,
    });
    const flag = svgElement("g", { class: "flag" });
    const corner = { x: place.x + size * 0.8, y: place.y - size * 0.8 };
    const flagText = svgText("", { x: corner.x, y: corner.y + 3.5 });
    flag.append(svgElement("circle", { cx: corner.x, cy: corner.y, r: 9.5 }), flagText);
    const { x, y, anchor } = beside(place, size);
    const status = svgText("", { class: "node-status", x, y, "text-anchor": anchor });
    group.append(svgElement("circle", { class: "halo", r: size + 6, ...at }), svgElement("circle", { class: "body", r: size, ...at }),
      crown, cross, id, flag, status);
    parent.append(group);
    return { group, status, flag, flagText, words: { x, y, anchor } };
  });
}

function networkEdges(data, ways, parent) {
  const { shape, directed } = data.network;
  return data.network.edges.map(([from, to]) => {
    const way = ways.edge(from, to), middle = way.at(0.5);
    const turn = Math.atan2(-middle.nx, middle.ny) * 180 / Math.PI;
    const group = svgElement("g", { class: "edge", "data-from": data.ids[from], "data-to": data.ids[to] });
    const pointer = svgElement("path", { class: "pointer", d: "M9 0L-6 -7L-2.500 0L-6 7z" });
    const mark = svgElement("path", { class: "gap-mark", d: "M-8 -9L0 9M0 -9L8 9" });
    group.append(svgElement("path", { class: "line", d: way.d }), pointer, mark);
    group.classList.toggle("faint", shape === "circle");
    group.classList.toggle("fixed", directed);
    parent.append(group);
    return { from, to, group, pointer, mark, way, turn, directed };
  });
}

function showEdge(edge, lives, cuts) {
  const there = cuts.has(edge.from + ">" + edge.to), back = cuts.has(edge.to + ">" + edge.from);
  const one = lives[edge.from], other = lives[edge.to];
  const forward = edge.directed || one.pointsTo.includes(edge.to), backward = other.pointsTo.includes(edge.from);
  const pruned = one.pruned.includes(edge.to) || other.pruned.includes(edge.from);
  const direction = pruned ? "none" : forward && backward ? "turning" : forward ? "forward" : backward ? "backward" : "none";
  const cut = there && (back || edge.directed) ? "both" : there ? "forward" : back ? "backward" : "none";
  Object.assign(edge.group.dataset, { direction, cut });
  edge.group.classList.toggle("pruned", pruned);
  const { x, y } = edge.way.at(0.5), extra = { forward: 0, turning: 90, backward: 180, none: 0 }[direction];
  edge.pointer.style.transform = `translate(${x}px, ${y}px) rotate(${edge.turn + extra}deg)`;
  const broken = edge.way.at({ forward: 0.72, backward: 0.28, both: 0.5, none: 0.5 }[cut]);
  edge.mark.style.transform = `translate(${broken.x}px, ${broken.y}px) rotate(${edge.turn}deg)`;
}

// The visible state of a message: the part of its path that it has travelled, and how it ended; null if not visible.
function flightAt(arrow, moment, unit) {
  const { time, first, last, whole } = moment;
  if (arrow.i > last) return null;
  const isLost = arrow.fate !== "delivered" && arrow.fate !== "flying";
  const isNow = !whole && time === moment.since && arrow.end >= first && arrow.end <= last;
  const until = arrow.fate === "flying" || (isLost && arrow.until === arrow.at) ? arrow.at + unit : arrow.until;
  const part = until > arrow.at ? Math.min((time - arrow.at) / (until - arrow.at), 1) : 1;
  if (isLost) {
    const stops = arrow.until > arrow.at ? 0.82 : 0.55;
    const isOver = isNow || (part >= 1 && arrow.end <= last);
    if (arrow.end <= last && !isNow && (whole || time > until + 0.6 * unit)) return null;
    return { part: isOver ? stops : stops * part, ends: isOver ? "cross" : "" };
  }
  if (arrow.end > last) return { part: 0.12 + 0.78 * part, ends: "" };
  return isNow ? { part: 0.92, ends: "arrived" } : null;
}

function drawFlight(arrow, flight, way, label) {
  const at = way.at(flight.part);
  const group = svgElement("g", { class: `flight k${arrow.colour}`, "data-label": arrow.label, "data-ends": flight.ends || "flying" });
  tooltip(group, arrow.label);
  const turn = Math.atan2(-at.nx, at.ny) * 180 / Math.PI;
  const trail = svgElement("path", { class: "trail", d: way.d, pathLength: 1, "stroke-dasharray": `${flight.part.toFixed(3)} 2` });
  group.append(trail);
  const here = `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`;
  if (flight.ends === "cross") group.append(svgElement("path", { class: "cross", d: "M-6 -6L6 6M6 -6L-6 6", transform: here }));
  else group.append(svgElement("path", { class: "bead", d: "M9 0C5 -6 -6 -7 -6 0C-6 7 5 6 9 0z", transform: `${here} rotate(${turn.toFixed(1)})` }));
  if (label) group.append(svgText(label.text, { x: label.x, y: label.y, "text-anchor": "middle" }));
  return group;
}

// The shift of a label to one side of its message: fully, so that the path stays free, or centred.
function lean(direction) {
  return Math.max(-1, Math.min(1, direction / 0.35));
}

// Place a label beside the message, on its previous side or the other one, where nothing else is drawn.
function placeLabel(arrow, way, part, taken, room) {
  const text = short(arrow.label), wide = text.length * 6.4, at = way.at(part), first = arrow.side ?? way.side, sides = [first, -first];
  for (const [far, along] of LABEL_PLACES) {
    for (const side of sides) {
      const x = at.x + side * (at.nx * far + lean(at.nx) * wide / 2) + along * wide;
      const y = at.y + side * (at.ny * far + lean(at.ny) * 6) + 4;
      const box = textBox(x, y, text, "middle", 11);
      if (!contains(room, box) || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      arrow.side = side;
      return { text, x: x.toFixed(1), y: y.toFixed(1) };
    }
  }
  return null;
}

function roomFor(data, size) {
  const longest = data.ids.map(() => 0);
  for (const event of data.events) {
    if (event.e === "status") longest[event.p] = Math.max(longest[event.p], short(event.text).length);
  }
  let box = [Infinity, Infinity, -Infinity, -Infinity];
  data.network.nodes.forEach((node, column) => {
    const { x, y, anchor } = beside(node, size), words = textBox(x, y, "x".repeat(longest[column]), anchor, 12);
    const around = size + 30, aside = size + 96; // labels of messages are at the sides
    box = [Math.min(box[0], node.x - aside, words[0] - 8), Math.min(box[1], node.y - around, words[1] - 14),
      Math.max(box[2], node.x + aside, words[2] + 8), Math.max(box[3], node.y + around, words[3] + 14)];
  });
  const wide = Math.max(box[2] - box[0], 760), high = Math.max(box[3] - box[1], 540); // so that a few processes are not drawn too large
  const left = (box[0] + box[2] - wide) / 2, top = (box[1] + box[3] - high) / 2;
  return [left, top, left + wide, top + high].map(Math.round);
}

function networkLegend(data, box) {
  const events = data.events, has = (kind) => events.some((event) => event.e === kind);
  const occurs = {
    active: events.some((event) => event.e === "viewed" && event.active === true),
    passive: events.some((event) => event.e === "viewed" && event.active === false),
    waiting: has("wanted"), inside: has("entered"), leader: events.some((event) => event.e === "elected" && event.self),
    down: has("crashed"), paused: has("paused"),
  };
  for (const [kind, there] of Object.entries(occurs)) {
    if (!there) continue;
    const entry = make("span", "entry", words.state[kind]);
    entry.dataset.state = kind;
    box.append(entry);
  }
  const lines = {
    flag: occurs.leader, cut: has("cut"), pruned: events.some((event) => event.e === "viewed" && event.pruned.length),
  };
  for (const [kind, there] of Object.entries(lines)) if (there) box.append(make("span", `entry ${kind}-entry`, words.legend[kind]));
}

function networkView(data) {
  const box = document.getElementById("network"), svg = document.getElementById("network-picture");
  const network = data.network, unit = data.places.unitUs;
  const size = network.nodes.length <= 12 ? 24 : network.nodes.length <= 16 ? 21 : 18;
  const ways = waysOf(network, size), layers = ["edges", "flights", "nodes"].map((name) => svgElement("g", { class: name }));
  const room = roomFor(data, size);
  svg.setAttribute("viewBox", [room[0], room[1], room[2] - room[0], room[3] - room[1]].join(" "));
  svg.append(...layers);
  const edges = networkEdges(data, ways, layers[0]), nodes = networkNodes(data, size, layers[2]);
  if (network.missing && network.radius) { // the gap in the circle is the place of the others
    const angle = -Math.PI / 2 - 2 * Math.PI / (nodes.length + 1), far = network.radius;
    layers[0].append(svgText("+" + network.missing, { class: "missing", x: far * Math.cos(angle), y: far * Math.sin(angle) }));
  }
  const bodies = network.nodes.map(({ x, y }) => [x - size, y - size, x + size, y + size]);
  networkLegend(data, document.getElementById("network-legend"));
  document.getElementById("network-more").textContent = network.missing ? fill(words.more, network) : "";
  const view = { onPick: () => {} };

  function showNode(node, life, column, moment) {
    const said = life.status ? short(life.status) : "";
    node.group.dataset.state = stateOf(life);
    node.group.classList.toggle("acting", !moment.whole && moment.acting === column);
    node.group.classList.toggle("violates", moment.wrong.has(column));
    node.status.textContent = said;
    const follows = life.leader !== null && !life.leads;
    node.flag.style.display = follows ? "" : "none";
    node.flagText.textContent = follows ? life.leader : "";
    const { x, y } = network.nodes[column], flag = [x + size * 0.8 - 10, y - size * 0.8 - 10, x + size * 0.8 + 10, y];
    const box = textBox(node.words.x, node.words.y, said, node.words.anchor, 12);
    return follows ? [box, flag] : [box];
  }

  function fly(moment, taken) {
    const same = new Map(), drawn = [];
    for (const arrow of data.arrows) {
      const flight = flightAt(arrow, moment, unit);
      if (!flight) continue;
      const course = [arrow.from, arrow.to, arrow.at, arrow.until, flight.ends].join(), before = same.get(course) ?? 0;
      same.set(course, before + 1);
      flight.part = Math.max(flight.part - 0.09 * Math.min(before, 5), 0.02); // one behind the other
      const way = ways.message(arrow.from, arrow.to), { x, y } = way.at(flight.part);
      taken.push([x - 7, y - 7, x + 7, y + 7]);
      drawn.push({ arrow, flight, way });
    }
    drawn.sort((one, other) => (other.flight.ends !== "") - (one.flight.ends !== "")); // events of this moment get their labels first
    layers[1].replaceChildren(...drawn.map(({ arrow, flight, way }) => {
      const group = drawFlight(arrow, flight, way, placeLabel(arrow, way, flight.part, taken, room));
      group.addEventListener("click", () => view.onPick(arrow.until));
      return group;
    }));
    return drawn.length;
  }

  view.show = (moment) => {
    const cuts = cutsAfter(data, moment.last + 1);
    for (const edge of edges) showEdge(edge, moment.lives, cuts);
    const said = nodes.flatMap((node, column) => showNode(node, moment.lives[column], column, moment));
    box.dataset.flying = fly(moment, [...bodies, ...said]);
  };
  return view;
}
