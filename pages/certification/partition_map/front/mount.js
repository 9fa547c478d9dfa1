// What Streamlit calls: with bytes to show a tree, with {map, selected} to choose a box of it.

const maps = new Map();
const orders = new Map();
/** What was zoomed to, by map: it outlives the element, which goes with every change of page. */
const views = new Map();
const hosts = new WeakMap();

export default function mount({ data, parentElement, setTriggerValue }) {
  if (!(data instanceof Uint8Array)) {
    orders.set(data.map, data.selected);
    maps.get(data.map)?.obey(data.selected);
    return undefined;
  }
  const started = performance.now();
  const host = hosts.get(parentElement) ?? { n: 0, map: null, data: null };
  hosts.set(parentElement, host);
  host.n += 1;
  const tree = new BoxTree(data);
  const { key } = tree.header;
  if (host.map !== null) views.set(key, host.map.kept);
  const map = host.map ?? new PartitionMap(parentElement);
  host.map = map;
  maps.set(key, map);
  map.tell = setTriggerValue;
  map.show(tree, orders.has(key) ? orders.get(key) : null, views.get(key));
  map.frame.stage.dataset.readyMs = (performance.now() - started).toFixed(1);
  const call = host.n;
  return () => {
    if (host.n !== call) return; // called again since: the element is still on the page
    views.set(key, map.kept);
    map.close();
    host.map = null;
    if (maps.get(key) === map) maps.delete(key);
  };
}
