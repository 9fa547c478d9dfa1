// Names that are read aloud are plain text: Streamlit names a control by its label as it is written, in markdown.

const WRITTEN = '[aria-label*="\\\\"], [aria-label*="**"]';

function speakPlainly() {
  for (const control of document.querySelectorAll(WRITTEN)) {
    const name = control.getAttribute("aria-label").replaceAll("**", "");
    control.setAttribute("aria-label", name.replace(/\\([!-/:-@[-`{-~])/g, "$1"));
  }
}

const NAMES = { childList: true, subtree: true, attributeFilter: ["aria-label"] };
new MutationObserver(speakPlainly).observe(document.body, NAMES);
speakPlainly(); // what was there before this script came
