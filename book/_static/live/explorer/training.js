// A run of gradient descent that is made piece by piece and can go back.
import { LOSSES, copy, descend, outputs } from "./network.js";

const SPACING = 1.03; // of the steps at which the run is kept
const AT_ONCE = 8; // steps between two looks at the clock

const LARGEST = 1e100; // sum of the sizes of all weights, at most: outputs and their differences stay finite

const size = (values) => {
  let total = 0;
  for (const value of values) total += Math.abs(value);
  return total;
};

export class Training {
  constructor(network, data, rule) {
    this.network = network;
    this.data = data;
    this.rule = rule;
    this.made = 0;
    this.lost = false;
    this.fitted = new Float64Array(data.n).fill(Infinity); // the step at which half of a label was reached
    this.z = new Float64Array(network.m * data.n);
    this.kept = [];
    this.keep(outputs(network, data));
  }

  loss(f) {
    return f.reduce((sum, value, i) => sum + LOSSES[this.rule.loss].value(value, this.data.labels[i]), 0) / this.data.n;
  }

  keep(f) {
    this.kept.push({ step: this.made, loss: this.loss(f), network: copy(this.network) });
  }

  // Where the run stands now: its outputs, and the losses [step, loss] on the way there.
  get now() {
    const f = outputs(this.network, this.data);
    const losses = this.kept.map(({ step, loss }) => [step, loss]);
    return { f, losses: this.lost ? losses : [...losses, [this.made, this.loss(f)]] };
  }

  // Go to the state after `goal` steps, or towards it for so many milliseconds; whether it is reached.
  advance(goal, milliseconds = Infinity) {
    if (goal < this.made) this.rewind(goal);
    const end = performance.now() + milliseconds;
    while (this.made < goal && !this.lost && performance.now() < end) {
      for (let k = 0; k < AT_ONCE && this.made < goal && !this.lost; k += 1) this.step();
    }
    return this.made >= goal || this.lost;
  }

  step() {
    const last = this.kept.at(-1).step;
    if (this.made > last && this.made >= SPACING * last) this.keep(outputs(this.network, this.data));
    const f = descend(this.network, this.data, this.rule, this.z);
    for (let i = 0; i < f.length; i += 1) {
      if (this.fitted[i] === Infinity && f[i] * this.data.labels[i] >= 0.5) this.fitted[i] = this.made;
    }
    this.lost = !(size(this.network.a) + size(this.network.w) < LARGEST);
    if (this.lost) this.network = copy(this.kept.at(-1).network);
    else this.made += 1;
  }

  rewind(goal) {
    while (this.kept.at(-1).step > goal) this.kept.pop();
    const last = this.kept.at(-1);
    this.network = copy(last.network);
    this.made = last.step;
    this.lost = false;
    this.fitted = this.fitted.map((step) => (step < this.made ? step : Infinity));
  }
}
