// Keys of presentation mode: Escape ends it, left and right step through what is shown one at a time, and the keys of a
// presenter's remote go to the page before and after. What has keys of its own keeps them.

const PRESSED = {
  Escape: ".st-key-present button",
  ArrowLeft: ".st-key-step_back button",
  ArrowRight: ".st-key-step_on button",
  PageUp: ".st-key-page_before a",
  PageDown: ".st-key-page_after a",
};
const OWN_KEYS =
  'input, textarea, select, [contenteditable="true"], [role="slider"], [role="tab"], [role="radio"], [role="grid"], canvas';
const OPEN = '[role="dialog"], [data-testid="stPopoverBody"], [role="listbox"], [data-title="Close fullscreen"]';

export default function mount() {
  const ending = new AbortController();
  const press = (event) => {
    const wanted = PRESSED[event.key];
    if (!wanted || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = event.composedPath()[0];
    if (at instanceof Element && at.matches(OWN_KEYS)) return;
    if (document.querySelector(OPEN)) return;
    const button = document.querySelector(wanted);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  };
  window.addEventListener("keydown", press, { signal: ending.signal });
  return () => ending.abort();
}
