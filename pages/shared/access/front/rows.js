// Tables by keyboard. Arrow keys go through the cells of one, Tab leaves it; where a line is to be chosen, Space and
// Enter choose the one that has the focus. The table itself knows Shift+Space for that, takes Space and Enter for a wish
// to see a cell (its accessible copy has them whole), and goes through all columns by Tab.

const TABLES = '[data-testid="stDataFrame"] canvas';
const CHOOSERS = '[class*="st-key-choose_"]';
const CURRENT_CELL = '[role=gridcell][aria-selected="true"]';
const CELLS_OF_MARKED = '[role=row][aria-selected="true"] > [role=gridcell]';

function goByKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !event.target.closest?.(TABLES)) return;
  if (event.key === "Tab") event.stopImmediatePropagation();
  const chooses = !event.shiftKey && (event.key === " " || event.key === "Enter");
  if (!chooses || event.target.closest(CHOOSERS) === null) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.repeat) return;
  const chosen = { key: " ", code: "Space", shiftKey: true, bubbles: true, cancelable: true };
  event.target.dispatchEvent(new KeyboardEvent("keydown", chosen));
}

/** How to choose is said while a table has the focus by keyboard; style sheets do not see a focus inside of a canvas. */
function tellHow(event) {
  const table = event.target.closest?.(`${CHOOSERS} canvas`);
  if (!table) return;
  const isByKey = event.type === "focusin" && event.target.matches(":focus-visible");
  table.closest(CHOOSERS).toggleAttribute("data-by-key", isByKey);
}

/** A table of which a line is marked gives the focus to no cell, and arrow keys would do nothing. */
function enterMarked(event) {
  const table = event.target;
  if (!table.matches(TABLES) || table.querySelector(CURRENT_CELL) !== null) return;
  table.querySelector(CELLS_OF_MARKED)?.focus({ preventScroll: true });
}

document.addEventListener("keydown", goByKey, true);
for (const type of ["focusout", "focusin"]) document.addEventListener(type, tellHow);
document.addEventListener("focusin", enterMarked);
