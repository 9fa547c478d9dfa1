// Numbers as every page of the app writes them (see wording.py).

/** "12 345", with thin spaces. */
function countText(n) {
  return Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
}

/** A share of 0 to 1 with two significant digits, counted from the nearer of 0 and 100 %: "0.68 %". */
function shareText(share) {
  const distance = 100 * Math.min(Math.abs(share), Math.abs(1 - share));
  if (share > 0 && distance > 0 && distance < 5e-5) return share < 0.5 ? "below 0.0001 %" : "above 99.9999 %";
  const decimals = distance <= 0 ? 0 : Math.min(4, Math.max(0, 1 - Math.floor(Math.log10(distance))));
  return `${(100 * share).toFixed(decimals)} %`;
}
