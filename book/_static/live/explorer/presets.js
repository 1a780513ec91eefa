// Settings worth a look. Points are x, y and label, one after the other; scale, step and strength are powers of ten.

// Two moons of 24 points, drawn with the library, and the same moved apart along the first axis.
const MOONS = [
  -0.82, -0.04, -1, 0.34, 1.24, 1, 0.79, -0.21, 1, -0.5, -1.35, -1, -0.84, 0.18, -1, -0.69, -1.25, -1, 0.32, -0.48, 1,
  -0.6, -0.93, -1, -0.19, -1.56, -1, 0.08, 0.47, -1, -0.06, -0.47, 1, 0.93, 0.28, 1, 0.02, -1.5, -1, 0.27, -0.45, 1,
  -0.59, 0.29, -1, -0.86, -0.49, -1, -0.26, 0.45, -1, 0.19, 1.5, 1, 0.64, 1.07, 1, 1, 0.73, 1, 0.92, 0.01, 1, 0.83, 0.95, 1,
  0.06, 1.32, 1, -0.95, -0.65, -1,
];
const apart = (gap) => MOONS.map((value, k) => (k % 3 ? value : Number((value + gap * MOONS[k + 2]).toFixed(2))));

export const INITIAL = {
  preset: "plateau",
  points: [-0.5, 1, -1, 2, 1, 1],
  brush: "blue",
  scale: -4,
  time: 0,
  slope: 0,
  loss: "square",
  penalty: "none",
  strength: -1,
  step: -1.5,
  width: 20,
  start: "balanced",
  bias: "without",
  seed: 1,
};

export const PRESETS = {
  plateau: {},
  alignment: {
    points: [1.6, 0.5, 1, 1.2, 1.1, 1, 0.9, 1.5, 1, 1.9, 1.2, 1, 0.8, 0.7, 1, -1.5, -0.3, -1, -1, -0.8, -1, -0.7, -1.6, -1, -1.8, -1.1, -1],
    loss: "logistic",
    width: 60,
    step: -1,
    scale: -3,
  },
  outlier: {
    points: [1, -0.7, 1, 2.2, 1.7, 1, 0.8, 0.2, 1, -1, 0.3, -1, -1, 0.8, -1, -0.5, 0.3, -1],
    loss: "logistic",
    slope: 0.1,
    start: "fixed",
    step: -0.5,
    scale: -1,
  },
  moons: { points: MOONS, loss: "logistic", bias: "with", width: 60, scale: -0.5, step: -1, start: "gaussian" },
  starved: { points: apart(0.2), loss: "logistic", bias: "with", width: 60, scale: -0.5, step: -1, start: "gaussian" },
};

export const NAMES = {
  plateau: "plateau: two points at right angles",
  alignment: "alignment: orthogonally separable points",
  outlier: "outlier: which line?",
  moons: "two moons",
  starved: "starved: two moons with a gap",
};
