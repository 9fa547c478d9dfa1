// Numbers as every page of the app writes them (see wording.py).

const MAX_DECIMALS = 4;
/** Shares come as float32: a step that is this near was reached. */
const NEAR_STEP = 1e-3;

/** "12 345", with thin spaces. */
function countText(n) {
  return Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
}

function down(steps) {
  return Math.floor(steps + NEAR_STEP);
}

/** A share of 0 to 1 with two significant digits, counted from the nearer of 0 and 100 %: "0.68 %"; rounded down, as the card of a box does. */
function shareText(share, round = down) {
  const least = 10 ** -(MAX_DECIMALS + 2);
  if (share > 0 && share < least) return `below ${(100 * least).toFixed(MAX_DECIMALS)} %`;
  if (share < 1 && share > 1 - least) return `above ${(100 - 100 * least).toFixed(MAX_DECIMALS)} %`;
  const distance = 100 * Math.min(share, 1 - share);
  const decimals = distance <= 0 ? 0 : Math.min(MAX_DECIMALS, Math.max(0, 1 - Math.floor(Math.log10(distance))));
  return `${(round(share * 10 ** (decimals + 2)) / 10 ** decimals).toFixed(decimals)} %`;
}

/** What is proved is rounded down, what is open is rounded up: no text claims more than the proof. */
function verdictText(verdict, share) {
  const up = (steps) => Math.ceil(steps - NEAR_STEP);
  return shareText(share, verdict === UNDECIDED ? up : down);
}

/** "1 box", "12 boxes". */
function boxesText(n, what = "") {
  return `${countText(n)} ${what}${n === 1 ? "box" : "boxes"}`;
}
