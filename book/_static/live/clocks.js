// A whole training run in the plane: neurons that turn alone while the outputs are negligible, in closed form, and from
// then on the flow of all weights together.  When is the last neuron aligned, and when is the loss halved?
import { align, at, growth, stageAt, unit, wrap } from "./alignment.js";
import { train } from "./network.js";

const NEGLIGIBLE = Math.log(1e-6); // of the sum of squared norms
const LATE = 1e6;

const seen = (angle, angles) => angles.map((normal) => Math.abs(wrap(angle - normal)) < Math.PI / 2);
const same = (one, other) => one.every((value, i) => value === other[i]);

// The time until which outputs are negligible.
export function handover(paths, logScale) {
  const log = (time) => {
    const squares = paths.map((path) => 2 * (at(path, time).logNorm + logScale));
    const most = Math.max(...squares);
    return most + Math.log(squares.reduce((total, value) => total + Math.exp(value - most), 0));
  };
  let [low, high] = [0, 1];
  while (log(high) < NEGLIGIBLE && high < LATE) [low, high] = [high, 2 * high];
  for (let k = 0; k < 40; k += 1) {
    const middle = (low + high) / 2;
    [low, high] = log(middle) < NEGLIGIBLE ? [middle, high] : [low, middle];
  }
  return low;
}

// The turning of the neurons {angle, sign} in the limit of small scale; they all start with one norm.  `angles` and `labels`
// are of the data, which are unit vectors.
export function turning(neurons, angles, labels) {
  const paths = neurons.map((neuron) => align(neuron, angles.map(unit), labels));
  const ends = paths.map((path) => ({ time: path.at(-1).from, pattern: path.at(-1).active }));
  return { neurons, angles, labels, paths, ends, from: Infinity, records: [], place: new Map() };
}

// The same from the scale 10^-power, with the training of all weights that follows.
export function training(turning, power) {
  const { neurons, angles, labels, paths } = turning;
  const logScale = -power * Math.LN10;
  const from = handover(paths, logScale);
  const moving = neurons.flatMap((_, j) => (stageAt(paths[j], from).speed > 0 ? [j] : []));
  const arrivals = [1, -1].map((sign) => {
    const own = moving.filter((j) => neurons[j].sign === sign).map((j) => growth(paths[j]));
    return Math.min(LATE, ...own.filter(({ rate }) => rate > 0).map(({ rate, offset }) => -(offset + logScale) / rate));
  });
  const until = 1.1 * Math.max(from, ...arrivals.filter((time) => time < LATE)) + 15;
  const begun = moving.map((j) => {
    const { angle, logNorm } = at(paths[j], from);
    return { angle, logNorm: logNorm + logScale, sign: neurons[j].sign, slidesOn: stageAt(paths[j], from).slidesOn };
  });
  const records = train(begun, angles.map(unit), labels, from, until);
  const place = new Map(moving.map((j, k) => [j, k]));
  const ends = turning.ends.map((end, j) => {
    if (end.time <= from) return end;
    const patterns = records.map((record) => seen(record.angles[place.get(j)], angles));
    const pattern = patterns.at(-1);
    if (fate(neurons[j].sign, pattern, labels) === "wrong") return { time: Infinity, pattern }; // still on its way
    return { time: records[patterns.findLastIndex((other) => !same(pattern, other)) + 1].time, pattern };
  });
  return { ...turning, ends, from, records, place };
}

const between = (records, time) => {
  const k = Math.max(1, records.findIndex((record) => record.time >= time));
  const [one, other] = [records[k - 1], records[k]];
  return [one, other, Math.min(1, (time - one.time) / (other.time - one.time))];
};

// When the loss is half of what it was; infinite if that is not within the records.
export function halved({ records, labels }) {
  const half = labels.length / 2;
  const k = records.findIndex(({ loss }) => loss <= half);
  if (k < 1) return Infinity;
  const [one, other] = [records[k - 1], records[k]];
  return one.time + ((one.loss - half) / (one.loss - other.loss)) * (other.time - one.time);
}

// The angles of all neurons.
export function anglesAt({ neurons, paths, from, records, place }, time) {
  const early = (j) => at(paths[j], Math.min(time, from)).angle;
  if (time <= from) return neurons.map((_, j) => early(j));
  const [one, other, part] = time >= records.at(-1).time ? [records.at(-1), records.at(-1), 0] : between(records, time);
  return neurons.map((_, j) => {
    const k = place.get(j);
    return k === undefined ? early(j) : one.angles[k] + part * (other.angles[k] - one.angles[k]);
  });
}

export const aligned = ({ ends }) => Math.max(...ends.map(({ time }) => time));

// Where a neuron ends: with its own class, dead, or elsewhere.
export function fate(sign, pattern, labels) {
  if (!pattern.some(Boolean)) return "dead";
  return pattern.every((active, i) => active === labels[i] * sign > 0) ? "own" : "wrong";
}

// Changes of pattern that no orthogonally separable data allow: a datum of the own class lost, or another one won.
export function wrongChanges({ neurons, paths, labels }) {
  return neurons.map(({ sign }, j) =>
    paths[j].slice(1).flatMap(({ from, active }, k) =>
      active.flatMap((now, i) => (now !== paths[j][k].active[i] && now !== labels[i] * sign > 0 ? [from] : [])),
    ),
  );
}
