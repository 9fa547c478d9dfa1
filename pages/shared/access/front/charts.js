// A chart is one picture to whoever hears the page: its title and what it shows are its name, the labels of its axes are
// not read one by one; the same as a table stands under it.

const WORDS = /<[^>]*>/g;
/** Charts that say when they are drawn anew: one may show something else and keep all its parts. */
const followed = new WeakSet();

function nameOfChart({ title, xaxis, yaxis, meta }) {
  const text = (part) => (part?.text ?? "").replace(WORDS, " ").trim();
  const axes = [text(yaxis?.title), text(xaxis?.title)].filter((one) => one !== "").join(" against ");
  return [text(title), meta ?? axes].filter((one) => one !== "").join(". ");
}

function nameCharts() {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) {
    const [picture, ...overlays] = chart.querySelectorAll("svg.main-svg");
    if (picture === undefined || chart.layout === undefined) continue;
    if (!followed.has(chart)) chart.on("plotly_afterplot", nameCharts);
    followed.add(chart);
    const name = nameOfChart(chart.layout);
    if (picture.getAttribute("aria-label") === name) continue;
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", name);
    for (const overlay of overlays) overlay.setAttribute("aria-hidden", "true");
  }
}

new MutationObserver(nameCharts).observe(document.body, { childList: true, subtree: true });
nameCharts(); // what was drawn before this script came, after which a page may stay as it is
