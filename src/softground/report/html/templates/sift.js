// Examples of a gallery, filtered and a page at a time. Without scripts all of them are simply there.
"use strict";

function sift(gallery) {
  const PAGE = 12, every = [...gallery.children];
  const text = new Map(every.map(one => [one, one.textContent.replace(/\s+/g, " ").toLowerCase()]));
  const kinds = {
    "all": () => true,
    "not explained": one => one.classList.contains("wrong"),
    "wrong symbols": one => one.classList.contains("mistaken"),
    "right": one => !one.matches(".wrong, .mistaken"),
  };
  const bar = document.createElement("div");
  bar.className = "sift";
  let kind = "all", page = 0;

  function add(name, words, more) {
    const made = Object.assign(document.createElement(name), more);
    if (words) made.textContent = words;
    bar.append(made);
    return made;
  }

  function button(words, act) {
    return add("button", words, { type: "button", onclick: () => { act(); show(); } });
  }

  const choices = Object.entries(kinds).filter(([, fits]) => every.some(fits)).map(([name, fits]) =>
    [name, button(`${name} (${every.filter(fits).length})`, () => { kind = name; page = 0; })]);
  const field = add("input", "", { type: "search", placeholder: "answer or symbol", oninput: () => { page = 0; show(); } });
  field.setAttribute("aria-label", "Show examples with this text");
  const back = button("‹", () => page--), where = add("span"), forth = button("›", () => page++);
  back.setAttribute("aria-label", "Earlier examples");
  forth.setAttribute("aria-label", "Later examples");
  where.setAttribute("aria-live", "polite");

  function show() {
    const asked = field.value.trim().toLowerCase();
    const found = every.filter(one => kinds[kind](one) && text.get(one).includes(asked));
    const first = page * PAGE, last = Math.min(found.length, first + PAGE), shown = new Set(found.slice(first, last));
    for (const one of every) one.hidden = !shown.has(one);
    for (const [name, made] of choices) made.setAttribute("aria-pressed", name === kind);
    where.textContent = found.length ? `${first + 1}–${last} of ${found.length}` : "none";
    back.disabled = page === 0;
    forth.disabled = last === found.length;
  }

  gallery.before(bar);
  show();
}

document.querySelectorAll(".sifted").forEach(sift);
