// Devices over time, as the coordinator has them in memory: use, memory, temperature and power, a line for each device.
import {h, replace} from "./dom.js";
import {shown} from "./format.js";
import {LineChart} from "./charts.js";

const kQuantities = [
  {key: "utilization", title: "in use", format: (v) => `${shown(100 * v, 3)} %`, range: {min: 0, max: 1}},
  {key: "memory", title: "memory", format: (v) => `${shown(v, 4)} GiB`, scale: 1 / 1024, range: {min: 0}},
  {key: "temperature", title: "temperature", format: (v) => `${shown(v, 4)} °C`},
  {key: "power", title: "power", format: (v) => `${shown(v, 4)} W`, range: {min: 0}},
];

export class DeviceCharts {
  constructor(of) {
    this.of = of;
    this.element = h("div", {class: "charts"});
    this.charts = new Map();
  }
  // `tracks`: {name, points}, as LiveSource.deviceTracks has the points.
  async show(tracks) {
    const drawn = kQuantities.map((quantity) => ({quantity, lines: tracks.map((track, colour) => ({name: track.name, colour, points: track.points.filter((p) => Number.isFinite(p[quantity.key])).map((p) => [p.at, (quantity.scale ?? 1) * p[quantity.key]])})).filter((line) => line.points.length > 0)}))
      .filter(({lines}) => lines.length > 0);
    const key = drawn.map(({quantity}) => quantity.key).join();
    if (key !== this.key) {
      this.key = key;
      this.destroy();
      for (const {quantity} of drawn) this.charts.set(quantity.key, new LineChart({label: `${quantity.title} of ${this.of} over time`, x: "", height: 190, time: true, format: quantity.format, range: quantity.range}));
      replace(this.element, drawn.length === 0 ? h("p", {class: "empty"}, "Nothing is known of this time: the coordinator keeps a day, in memory, and begins anew when it starts.")
        : drawn.map(({quantity}) => h("figure", {}, h("figcaption", {}, quantity.title), this.charts.get(quantity.key).element)));
    }
    await Promise.all(drawn.map(({quantity, lines}) => this.charts.get(quantity.key)?.update(lines)));
  }
  destroy() {
    for (const chart of this.charts.values()) chart.destroy();
    this.charts.clear();
  }
}
