// What Streamlit calls with a recording; one player a place, kept while the page is drawn anew.

const players = new WeakMap();

export default function mount({ data, parentElement }) {
  const host = players.get(parentElement) ?? { n: 0, player: null };
  players.set(parentElement, host);
  host.n += 1;
  host.player ??= new Player(parentElement);
  host.player.show(data);
  const call = host.n;
  return () => {
    if (host.n !== call) return; // called again since: the element is still on the page
    host.player.close();
    host.player = null;
  };
}
