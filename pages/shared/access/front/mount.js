// What Streamlit calls: with a page that is drawn, or with something to announce.

export default function mount({ data }) {
  if ("page" in data) arrive(data.page);
  else voice.say(data);
}
