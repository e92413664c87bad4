// The network view: the positions of processes, and the messages in transit between them, at one moment. It is laid out
// in pixels of the screen, anew for each size, so that its words are readable on small screens too.
const LARGEST = 1.2, LEAST = 0.28; // the largest and the least scale of the positions
const WIDTHS = [190, 140, 105, 84]; // of the words at a process; narrower ones leave more room for the network

function networkNodes(data, nodes, size, parent) {
  return nodes.map((place, column) => {
    const group = svgElement("g", { class: "node", "data-process": data.ids[column] });
    const at = { cx: place.x, cy: place.y };
    const id = svgText(place.inside, { class: "name", x: place.x, y: place.y });
    id.style.fontSize = place.font + "px";
    const crown = svgElement("path", {
      class: "node-crown", d: `M${place.x - 8} ${place.y - size + 12}l-1.500 -9l5 4l4.500 -6l4.500 6l5 -4l-1.500 9z`,
    });
    const arm = size * 0.62;
    const cross = svgElement("path", {
      class: "node-cross", d: `M${place.x - arm} ${place.y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`,
    });
    const flag = svgElement("g", { class: "flag" }), pill = svgElement("rect", { height: 17, rx: 8.5 });
    const flagText = svgText("", {}), status = svgElement("g", { class: "node-words" });
    flag.append(pill, flagText);
    group.append(svgElement("circle", { class: "halo", r: size + 6, ...at }), svgElement("circle", { class: "body", r: size, ...at }),
      crown, cross, id, flag, status);
    tooltip(group, data.names[column]);
    parent.append(group);
    return { group, status, flag, flagText, pill };
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

// Who waits for whom in the deadlock at the end: one arrow for each process of the cycle.
function waitArrows(data, ways, parent) {
  return data.cycle.map((from, place) => {
    const to = data.cycle[(place + 1) % data.cycle.length], way = ways.wait(from, to), { x, y, nx, ny } = way.at(1);
    const turn = Math.atan2(-nx, ny) * 180 / Math.PI;
    const group = svgElement("g", { class: "waits", "data-from": data.ids[from], "data-to": data.ids[to] });
    group.append(svgElement("path", { class: "line", d: way.d }),
      svgElement("path", { class: "pointer", d: "M4 0L-9 -6L-9 6z", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${turn.toFixed(1)})` }));
    parent.append(group);
    return { from, to, group };
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

// The name or the number in a circle, and its size: the name only if it is readable there.
function nameIn(data, column, size) {
  const inside = [data.called[column], data.ids[column]].find((text) => widthOf(text, SMALLEST, 700) <= 2 * size - 6) ?? data.ids[column];
  const font = Math.max(SMALLEST, Math.min(15, 15 * (2 * size - 8) / widthOf(inside, 15, 700)));
  return { inside, font, name: inside === data.called[column] ? "" : data.called[column] };
}

// The positions in a frame: the largest scale at which the processes fit, with all their words if there are `statuses`.
function fitted(data, width, height, statuses) {
  const { nodes } = data.network, narrow = width < 520;
  let best = null;
  for (const wide of WIDTHS) {
    for (let scale = LARGEST; scale >= LEAST && scale > (best?.scale ?? 0); scale -= 0.02) {
      const size = Math.max(13, (nodes.length <= 12 ? 24 : nodes.length <= 16 ? 21 : 18) * Math.min(1, 0.35 + scale * 0.75));
      const named = nodes.map((node, column) => nameIn(data, column, size));
      const reach = [Infinity, Infinity, -Infinity, -Infinity];
      nodes.forEach((node, column) => {
        const side = narrow ? [0, node.side[1] < -0.35 ? -1 : 1] : node.side, x = node.x * scale, y = node.y * scale;
        const around = size + 16, boxes = [[x - around, y - around, x + around, y + around]];
        for (const status of statuses?.[column] ?? []) boxes.push(boxBeside(x, y, size, side, wordsAt(named[column].name, status, wide)));
        for (const box of boxes) for (const edge of [0, 1, 2, 3]) reach[edge] = (edge < 2 ? Math.min : Math.max)(reach[edge], box[edge]);
      });
      if (reach[2] - reach[0] > width - 8 || reach[3] - reach[1] > height - 8) continue;
      const left = (width - reach[0] - reach[2]) / 2, top = (height - reach[1] - reach[3]) / 2;
      best = { scale, size, wide, nodes: nodes.map((node, column) => ({
        x: node.x * scale + left, y: node.y * scale + top, side: narrow ? [0, node.side[1] < -0.35 ? -1 : 1] : node.side, ...named[column],
      })), centre: { x: left, y: top } };
      break;
    }
    if (best?.scale >= 0.8) break;
  }
  return best;
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
  const wrong = data.verdicts.filter((verdict) => verdict.spans.length).map((verdict) => verdict.title).join(", ");
  const lines = {
    flag: occurs.leader, cut: has("cut"), pruned: events.some((event) => event.e === "viewed" && event.pruned.length),
    ring: wrong, waits: data.cycle.length,
  };
  for (const [kind, there] of Object.entries(lines)) {
    if (there) box.append(make("span", `entry ${kind}-entry`, fill(words.legend[kind], { what: wrong })));
  }
}

function networkView(data) {
  const box = document.getElementById("network"), svg = document.getElementById("network-picture");
  const more = document.getElementById("network-more"), network = data.network, unit = data.places.unitUs;
  const view = { onPick: () => {} };
  const statuses = data.ids.map(() => new Set([""]));
  for (const event of data.events) if (event.e === "status") statuses[event.p].add(event.text);
  let scene = null, shown = null;
  networkLegend(data, document.getElementById("network-legend"));
  more.textContent = network.missing ? fill(words.more, network) : "";
  svg.setAttribute("aria-label", words.network);

  function build(width, height) {
    const place = fitted(data, width, height, statuses) ?? fitted(data, width, height) ?? fitted(data, 4 * width, 4 * height);
    const { size, nodes: places } = place;
    const ways = waysOf({ ...network, nodes: places, radius: network.radius * place.scale, centre: place.centre }, size);
    const layers = ["edges", "flights", "waiting", "nodes"].map((name) => svgElement("g", { class: name }));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren(...layers);
    const edges = networkEdges(data, ways, layers[0]), waits = waitArrows(data, ways, layers[2]);
    const nodes = networkNodes(data, places, size, layers[3]);
    if (network.missing && network.radius) { // the gap in the circle is the place of the others
      const angle = -Math.PI / 2 - 2 * Math.PI / (nodes.length + 1), far = network.radius * place.scale;
      layers[0].append(svgText("+" + network.missing, {
        class: "missing", x: place.centre.x + far * Math.cos(angle), y: place.centre.y + far * Math.sin(angle),
      }));
    }
    const bodies = places.map(({ x, y }) => [x - size - 2, y - size - 2, x + size + 2, y + size + 2]);
    return { width, height, room: [2, 2, width - 2, height - 2], wide: place.wide, size, places, ways, layer: layers[1], edges, waits, nodes, bodies };
  }

  function showFlag(node, life, column, taken) {
    const text = life.leader === null || life.leads ? "" : cutTo(life.leader, 70, SMALLEST, 700);
    const wide = Math.max(17, widthOf(text, SMALLEST, 700) + 9), others = taken.filter((_, place) => place !== column);
    const box = text && placeFlag(scene.places[column], scene.size, wide, others, scene.room);
    node.flag.style.display = box ? "" : "none";
    if (!box) return;
    const [left, top, right] = box;
    node.flagText.textContent = text;
    for (const [name, value] of Object.entries({ x: left, y: top, width: right - left })) node.pill.setAttribute(name, value);
    node.flagText.setAttribute("x", (left + right) / 2);
    node.flagText.setAttribute("y", top + 12.5);
    taken.push(box);
  }

  function showWords(node, place, life, taken) {
    const block = wordsAt(place.name, life.status, scene.wide), spot = block.lines.length ? placeWords(place, scene.size, block, taken, scene.room) : null;
    node.status.replaceChildren();
    if (!spot) return;
    const [left, top, right] = spot.box, [dx] = spot.side, anchor = Math.abs(dx) < 0.35 ? "middle" : dx > 0 ? "start" : "end";
    const x = anchor === "middle" ? (left + right) / 2 : anchor === "start" ? left : right;
    block.lines.forEach(({ text, weight }, line) => node.status.append(
      svgText(text, { class: "node-status", x, y: top + LINE * line + 11, "text-anchor": anchor, "font-weight": weight }),
    ));
    taken.push(spot.box);
  }

  function fly(moment, taken) {
    const same = new Map(), drawn = [], said = new Set();
    for (const arrow of data.arrows) {
      const flight = flightAt(arrow, moment, unit);
      if (!flight) continue;
      const course = [arrow.from, arrow.to, arrow.at, arrow.until, flight.ends].join(), before = same.get(course) ?? 0;
      same.set(course, before + 1);
      flight.part = Math.max(flight.part - 0.09 * Math.min(before, 5), 0.02); // one behind the other
      const way = scene.ways.message(arrow.from, arrow.to), { x, y } = way.at(flight.part);
      taken.push([x - 7, y - 7, x + 7, y + 7]);
      drawn.push({ arrow, flight, way });
    }
    drawn.sort((one, other) => (other.flight.ends !== "") - (one.flight.ends !== "")); // events of this moment get their labels first
    scene.layer.replaceChildren(...drawn.map(({ arrow, flight, way }) => {
      const broadcast = [arrow.from, arrow.at, arrow.label, flight.ends].join(); // it has one label
      const label = said.has(broadcast) ? null : placeLabel(arrow, way, flight.part, taken, scene.room);
      if (label) said.add(broadcast);
      const group = drawFlight(arrow, flight, way, label);
      group.addEventListener("click", () => view.onPick(arrow.until));
      return group;
    }));
    return drawn.length;
  }

  view.show = (moment) => {
    shown = moment;
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!width || !height) return;
    if (scene?.width !== width || scene?.height !== height) scene = build(width, height);
    const cuts = cutsAfter(data, moment.last + 1);
    for (const edge of scene.edges) showEdge(edge, moment.lives, cuts);
    for (const { from, to, group } of scene.waits) group.style.display = moment.lives[from].waitsFor.includes(to) ? "" : "none";
    const taken = [...scene.bodies];
    scene.nodes.forEach((node, column) => {
      const life = moment.lives[column];
      node.group.dataset.state = stateOf(life);
      node.group.classList.toggle("acting", !moment.whole && moment.acting === column);
      node.group.classList.toggle("violates", moment.wrong.has(column));
      showFlag(node, life, column, taken);
    });
    scene.nodes.forEach((node, column) => showWords(node, scene.places[column], moment.lives[column], taken));
    box.dataset.flying = fly(moment, taken);
  };
  new ResizeObserver(() => { if (shown) view.show(shown); }).observe(svg);
  return view;
}
