// The window on a run: asks for what has changed every second, and for a reading whenever something was drawn.
"use strict";
const $ = id => document.getElementById(id);
const canvas = $("canvas"), pen = canvas.getContext("2d", { willReadFrequently: true }), SIDE = canvas.width;
const PEN = SIDE / 12;  // as thick as a stroke of MNIST is in its picture
let slots = [], chosen = 0, version = "", asked = 0, waiting = null;

function element(name, kind, text) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

function percent(p) {
  return p > 0 && p < 0.005 ? "<1%" : p > 0.995 && p < 1 ? ">99%" : `${Math.round(100 * p)}%`;
}

// --- The run -------------------------------------------------------------------------------------------------------

async function follow() {
  try {
    const answer = await fetch(`live?seen=${encodeURIComponent(version)}`);
    if (answer.status !== 204) {
      const found = await answer.json();
      complain(found.error);
      if (!found.error) {
        $("live").innerHTML = found.html;  // written by the server, which escapes whatever it inserts
        document.querySelectorAll("#live .sifted").forEach(sift);
        const first = version === "";
        version = found.version;
        if (first || !slots.length) await measure();
        else ask();  // the network may be a newer one
      }
    }
  } catch (error) {
    complain("The window's server does not answer: softground open has ended, or this machine sleeps.");
  }
  setTimeout(follow, 1000);
}

function complain(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text || "";
}

// --- Symbols to read -----------------------------------------------------------------------------------------------

async function measure() {
  const found = await (await fetch("sizes")).json();
  const counts = found.counts || [];
  $("desk").hidden = !counts.length;
  if (!counts.length) {
    $("note").textContent = found.error || "This network does not read one grey picture per symbol, so there is nothing to draw.";
    return;
  }
  $("counted").hidden = counts.length < 2;
  $("count").replaceChildren(...counts.map(n => element("option", "", n)));
  begin(counts[0]);
}

function begin(count) {
  slots = Array.from({ length: count }, () => ({ sent: "", raw: null }));
  const root = Math.round(Math.sqrt(count));
  $("slots").className = count > 20 ? "many" : "";
  $("slots").style.setProperty("--n", root * root === count ? root : 10);
  $("told").replaceChildren();
  choose(0);
}

function choose(place) {
  chosen = place;
  pen.fillStyle = "#000";
  pen.fillRect(0, 0, SIDE, SIDE);
  if (slots[place].raw) pen.drawImage(slots[place].raw, 0, 0, SIDE, SIDE);
  show();
}

function show(found) {
  const other = found && found.explanation && !found.explanation.error ? found.explanation : null;
  $("slots").replaceChildren(...slots.map((slot, place) => {
    const made = element("button", other && other.differs.includes(place) ? "slot differs" : "slot");
    made.type = "button";
    made.setAttribute("aria-pressed", place === chosen);
    made.setAttribute("aria-label", `symbol ${place + 1}`);
    const picture = element(slot.sent ? "img" : "span", slot.sent ? "" : "blank");
    if (slot.sent) { picture.src = slot.sent; picture.alt = ""; }
    made.append(picture);
    if (found) {
      const read = found.symbols[place];
      made.append(element("b", "", other && other.differs.includes(place) ? `${read} → ${other.symbols[place]}` : read));
      const chances = element("span", "chances");
      for (const [symbol, p] of found.sites[place]) {
        const row = element("span", "chance"), bar = element("i");
        bar.style.width = `${100 * p}%`;
        row.append(element("span", "", symbol), bar, element("span", "", percent(p)));
        chances.append(row);
      }
      made.append(chances);
    }
    made.addEventListener("click", () => { choose(place); ask(); });
    return made;
  }));
}

function ask() {
  clearTimeout(waiting);
  waiting = setTimeout(read, 120);
}

async function read() {
  const drawn = slots.filter(slot => slot.sent).length, mine = ++asked;
  if (drawn < slots.length) {
    show();
    $("told").replaceChildren(element("p", "small", `${drawn} of ${slots.length} symbols drawn.`));
    return;
  }
  const pictures = slots.map(slot => slot.sent.split(",")[1]);
  let found;
  try {
    const request = { method: "POST", body: JSON.stringify({ pictures, answer: $("answer").value }) };
    found = await (await fetch("read", request)).json();
  } catch (error) {
    found = { error: "The window's server does not answer." };
  }
  if (mine !== asked) return;  // something else was drawn meanwhile
  if (found.error) { $("told").replaceChildren(element("p", "warn", found.error)); return; }
  show(found);
  $("told").replaceChildren(...sentences(found));
}

function sentences(found) {
  const said = [
    element("p", "sum", `${found.symbols.join(" ")}${gives(found)}`),
    element("p", "small", `Probability ${percent(found.probability)}.`),
  ];
  if (found.allowed) {
    said.push(element("p", "small", "The most probable reading that has a value:"));
    said.push(element("p", "sum", `${found.allowed.symbols.join(" ")}${gives(found.allowed)}`));
  }
  const other = found.explanation;
  if (!other) return said;
  if (other.error) return [...said, element("p", "warn", other.error)];
  if (!other.differs.length) return [...said, element("p", "small", "This reading explains the answer.")];
  said.push(element("p", "small", "The most probable reading that explains the answer:"));
  said.push(element("p", "sum", `${other.symbols.join(" ")}${gives(other)}`));
  const where = other.differs.map(place => `symbol ${place + 1}: ${found.symbols[place]} → ${other.symbols[place]}`);
  said.push(element("p", "small", `Probability ${percent(other.probability)}. It differs in ${where.join(", ")}.`));
  return said;
}

function gives(reading) {
  return reading.value !== null ? `   gives ${reading.value}` : reading.computes ? "   has no value" : "";
}

// --- Drawing and dropping ------------------------------------------------------------------------------------------

// A picture with the ink in the middle, as it is in the pictures that networks learn from; its size stays.
function centred() {
  const seen = pen.getImageData(0, 0, SIDE, SIDE).data;
  let left = SIDE, top = SIDE, right = -1, bottom = -1;
  for (let k = 0; k < SIDE * SIDE; k++) {
    if (seen[4 * k] < 64) continue;
    const x = k % SIDE, y = (k - x) / SIDE;
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  if (right < 0) return "";
  const made = element("canvas"), ink = made.getContext("2d");
  made.width = made.height = SIDE;
  ink.fillRect(0, 0, SIDE, SIDE);
  ink.drawImage(canvas, Math.round((SIDE - left - right) / 2), Math.round((SIDE - top - bottom) / 2));
  return made.toDataURL("image/png");
}

function keep() {
  const raw = element("canvas");
  raw.width = raw.height = SIDE;
  raw.getContext("2d").drawImage(canvas, 0, 0);
  slots[chosen] = { sent: centred(), raw, past: slots[chosen] };
  ask();
}

function undo() {
  slots[chosen] = slots[chosen].past || { sent: "", raw: null };
  choose(chosen);
  ask();
}

function at(event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left) * SIDE / box.width, (event.clientY - box.top) * SIDE / box.height];
}

canvas.addEventListener("pointerdown", event => {
  if (!slots.length) return;
  canvas.setPointerCapture(event.pointerId);
  Object.assign(pen, { strokeStyle: "#fff", lineWidth: PEN, lineCap: "round", lineJoin: "round" });
  pen.beginPath();
  pen.moveTo(...at(event));
  pen.lineTo(...at(event));
  pen.stroke();
});
canvas.addEventListener("pointermove", event => {
  if (!slots.length || !canvas.hasPointerCapture(event.pointerId)) return;
  pen.lineTo(...at(event));
  pen.stroke();
});
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => slots.length && keep());

async function take(files) {
  const images = [...files].slice(0, slots.length);
  let place = images.length === slots.length ? 0 : chosen;
  for (const file of images) {
    const sent = await new Promise(done => {
      const reader = new FileReader();
      reader.addEventListener("load", () => done(reader.result));
      reader.readAsDataURL(file);
    });
    const picture = new Image();
    await new Promise(done => { picture.onload = picture.onerror = done; picture.src = sent; });
    slots[place] = { sent, raw: picture.naturalWidth ? picture : null };
    place = (place + 1) % slots.length;
  }
  choose(place);
  ask();
}

$("next").addEventListener("click", () => { choose((chosen + 1) % slots.length); ask(); });
$("undo").addEventListener("click", undo);
$("clear").addEventListener("click", () => { slots[chosen] = { sent: "", raw: null }; choose(chosen); ask(); });
$("anew").addEventListener("click", () => begin(slots.length));
$("count").addEventListener("change", event => begin(Number(event.target.value)));
$("answer").addEventListener("input", ask);
$("files").addEventListener("change", event => { take(event.target.files); event.target.value = ""; });
for (const kind of ["dragover", "dragenter"]) {
  canvas.addEventListener(kind, event => { event.preventDefault(); canvas.classList.add("over"); });
}
canvas.addEventListener("dragleave", () => canvas.classList.remove("over"));
canvas.addEventListener("drop", event => {
  event.preventDefault();
  canvas.classList.remove("over");
  take(event.dataTransfer.files);
});
follow();
