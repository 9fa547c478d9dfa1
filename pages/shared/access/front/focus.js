// The focus comes to the heading of a new page, so that Tab goes on from there; and where what has it is drawn anew, it
// comes back to what stands there now.

let page;
/** Whether a page was just come to, and its heading is not there yet. */
let isArriving = false;
/** What has the focus, and where it stands: kept for when it goes without a word. */
let held = null;

function arrive(at) {
  isArriving = page !== undefined && page !== at;
  page = at;
  follow();
}

function nameOf(element) {
  return element.getAttribute("aria-label") ?? element.textContent.trim();
}

/** The places around an element that the app gave names, the nearest first. */
function placesOf(element) {
  const places = [];
  for (let at = element; at !== null; at = at.parentElement) {
    places.push(...[...at.classList].filter((name) => name.startsWith("st-key-")));
  }
  return places;
}

function hold(event) {
  const element = event.target;
  const cell = element.closest("[role=gridcell]");
  const chooser = element.closest(CHOOSERS);
  held = {
    element,
    tag: element.tagName,
    name: nameOf(element),
    places: placesOf(element),
    chooser: [...document.querySelectorAll(CHOOSERS)].indexOf(chooser),
    row: cell?.closest("[role=row]").getAttribute("aria-rowindex"),
    column: cell?.getAttribute("aria-colindex"),
  };
}

/** A cell of the table that stands where the old one stood: tables of which another line is marked are other ones. */
function twinCell() {
  const chooser = document.querySelectorAll(CHOOSERS)[held.chooser];
  const row = `[role=row][aria-rowindex="${held.row}"] > [role=gridcell][aria-colindex="${held.column}"]`;
  return chooser?.querySelector(row) ?? null;
}

/** The control of the same name in the nearest place that is still there. */
function twinControl() {
  for (const place of held.places) {
    for (const around of document.getElementsByClassName(place)) {
      const twins = [around, ...around.querySelectorAll(held.tag)];
      const twin = twins.find((one) => one.tagName === held.tag && nameOf(one) === held.name);
      if (twin !== undefined) return twin;
    }
  }
  return null;
}

function follow() {
  if (isArriving) {
    const heading = document.querySelector('[data-testid="stMain"] h1');
    if (heading === null) return;
    isArriving = false;
    heading.tabIndex = -1;
    heading.focus();
  } else if (held !== null && !held.element.isConnected && document.activeElement === document.body) {
    const twin = held.row === undefined ? twinControl() : twinCell();
    twin?.focus({ preventScroll: true });
  }
}

document.addEventListener("focusin", hold);
document.addEventListener("pointerdown", () => (held = null), true); // a focus may follow, and is held
new MutationObserver(follow).observe(document.body, { childList: true, subtree: true });
