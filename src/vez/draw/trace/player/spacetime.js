// The space-time view. A view has show(moment), and calls onPick(time) when the reader points at a moment;
// other views (a ring, a graph) can be added with the same two functions.
const SVG = "http://www.w3.org/2000/svg";

// The vertical position of a time: straight lines between knots, as in the layout of the diagram.
function timeScale(places) {
  const { knots, ys, unit, unitUs } = places;
  const last = knots.length - 1;
  function piece(list, value) {
    let low = 0, high = last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  }
  return {
    y(at) {
      const k = piece(knots, at);
      if (k === last) return ys[last] + (at - knots[last]) / unitUs * unit;
      return ys[k] + (at - knots[k]) / (knots[k + 1] - knots[k]) * (ys[k + 1] - ys[k]);
    },
    at(y) {
      const k = piece(ys, y);
      if (k === last) return knots[last] + (y - ys[last]) / unit * unitUs;
      return knots[k] + (y - ys[k]) / (ys[k + 1] - ys[k]) * (knots[k + 1] - knots[k]);
    },
  };
}

function svgElement(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function spaceTimeView(data, scale) {
  const box = document.getElementById("view");
  const heads = document.getElementById("heads");
  for (const drawn of [...document.getElementById("spacetime").children]) {
    if (drawn.lang === LANGUAGE) drawn.hidden = false; else drawn.remove();
  }
  const svg = document.querySelector("#spacetime svg");
  const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
  const veil = svgElement("rect", { class: "veil", x: 0, width, height });
  const line = svgElement("line", { class: "playhead", x1: 0, x2: width });
  const dots = svgElement("g", { class: "dots" });
  svg.append(veil, line, dots);

  heads.style.width = width + "px";
  const badges = data.names.map((id, column) => {
    const badge = document.createElement("div");
    badge.className = "head";
    badge.style.left = data.places.xs[column] + "px";
    badge.textContent = id;
    heads.append(badge);
    return badge;
  });

  const messages = [...svg.querySelectorAll(".message[data-i] > line")].map((stroke) => ({
    x1: +stroke.getAttribute("x1"), y1: +stroke.getAttribute("y1"),
    x2: +stroke.getAttribute("x2"), y2: +stroke.getAttribute("y2"),
    lost: stroke.parentNode.classList.contains("lost"),
  }));
  const elementsOf = new Map(); // event -> the elements that draw it
  let lit = [];
  for (const element of svg.querySelectorAll("[data-i]")) {
    for (const index of [element.dataset.i, element.dataset.end]) {
      if (index === undefined) continue;
      if (!elementsOf.has(+index)) elementsOf.set(+index, []);
      elementsOf.get(+index).push(element);
    }
  }
  const view = { onPick: () => {} };

  svg.addEventListener("click", (event) => {
    const scaled = svg.getBoundingClientRect();
    view.onPick(scale.at((event.clientY - scaled.top) * height / scaled.height));
  });

  function fly(y) {
    dots.replaceChildren();
    for (const message of messages) {
      if (message.y1 < y && y < message.y2) {
        const part = (y - message.y1) / (message.y2 - message.y1);
        dots.append(svgElement("circle", {
          class: message.lost ? "dot lost" : "dot", r: 4.5, cx: message.x1 + (message.x2 - message.x1) * part, cy: y,
        }));
      }
    }
  }

  view.show = (moment) => {
    const y = moment.whole ? height : scale.y(moment.time);
    veil.setAttribute("y", y);
    line.setAttribute("y1", y);
    line.setAttribute("y2", y);
    line.style.display = moment.whole ? "none" : "";
    fly(y);
    for (const element of lit) element.classList.remove("now");
    lit = [];
    for (let index = moment.first; index <= moment.last && !moment.whole; index++) {
      for (const element of elementsOf.get(index) ?? []) {
        element.classList.add("now");
        lit.push(element);
      }
    }
    badges.forEach((badge, column) => { badge.dataset.state = stateOf(moment.lives[column]); });
    if (moment.follow) {
      const top = y + heads.offsetHeight, visible = box.clientHeight;
      if (top < box.scrollTop + 120 || top > box.scrollTop + visible - 120) {
        box.scrollTop = Math.max(0, top - visible * (moment.playing ? 0.35 : 0.5));
      }
    }
  };
  return view;
}
