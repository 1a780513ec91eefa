// Convex programs of a few dimensions, solved exactly by an active-set method.

export const dot = (u, v) => u.reduce((sum, value, k) => sum + value * v[k], 0);
const combined = (points, weights) => points[0].map((_, k) => points.reduce((sum, point, i) => sum + weights[i] * point[k], 0));

// The solution of a linear system, by elimination with pivots.
function solve(matrix, right) {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  const size = rows.length;
  for (let k = 0; k < size; k += 1) {
    const pivot = rows.slice(k).reduce((best, row, i) => (Math.abs(row[k]) > Math.abs(rows[best][k]) ? k + i : best), k);
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let i = k + 1; i < size; i += 1) {
      const factor = rows[i][k] / rows[k][k];
      for (let l = k; l <= size; l += 1) rows[i][l] -= factor * rows[k][l];
    }
  }
  const x = new Array(size).fill(0);
  for (let k = size - 1; k >= 0; k -= 1) x[k] = (rows[k][size] - dot(rows[k].slice(k + 1, size), x.slice(k + 1))) / rows[k][k];
  return x;
}

// The weights, of sum 1 and any sign, of the shortest vector in the plane through the points.
function shortestAffine(points) {
  const matrix = points.map((p) => [...points.map((q) => dot(p, q)), 1]);
  matrix.push([...points.map(() => 1), 0]);
  return solve(matrix, [...points.map(() => 0), 1]).slice(0, points.length);
}

// The shortest vector in the convex hull of points (Wolfe's method).
export function shortestInHull(points) {
  const size = Math.max(...points.map((p) => dot(p, p)));
  let corral = [points.reduce((best, p) => (dot(p, p) < dot(best, best) ? p : best))];
  let weights = [1];
  let x = corral[0];
  for (let round = 0; round < 1000; round += 1) {
    const next = points.reduce((best, p) => (dot(p, x) < dot(best, x) ? p : best));
    if (dot(next, x) >= dot(x, x) - 1e-13 * size || corral.includes(next)) return x;
    corral.push(next);
    weights.push(0);
    for (;;) {
      const ideal = shortestAffine(corral);
      if (!ideal.every(Number.isFinite)) return x;
      const short = ideal.map((weight, i) => (weight > 1e-12 ? 1 : weights[i] / (weights[i] - weight)));
      const theta = Math.min(...short);
      weights = weights.map((weight, i) => weight + theta * (ideal[i] - weight));
      if (theta === 1) break;
      const kept = weights.map((weight, i) => weight > 1e-12 && short[i] > theta);
      corral = corral.filter((_, i) => kept[i]);
      weights = weights.filter((_, i) => kept[i]);
    }
    x = combined(corral, weights);
  }
  return x;
}

const SMALLEST = 1e-7; // margins below this, relative to the points, are not told from none

// The shortest x with <row, x> >= 1 for all rows, or null if there is none.
export function leastNorm(rows) {
  const shortest = shortestInHull(rows);
  const square = dot(shortest, shortest);
  const size = Math.max(...rows.map((row) => dot(row, row)));
  return square > SMALLEST ** 2 * size ? shortest.map((value) => value / square) : null;
}

// The hard-margin vector of inputs with labels, through the origin.
export const hardMargin = (inputs, labels) => leastNorm(inputs.map((x, i) => x.map((value) => labels[i] * value)));

// Program (8): the vectors w and u of the limit in the perfect regime, for a leaky slope.
export function agreementProgram(inputs, labels, slope) {
  const rows = inputs.map((x, i) => {
    const against = x.map((value) => -slope * value);
    return labels[i] > 0 ? [...x, ...against] : [...against, ...x];
  });
  const solution = leastNorm(rows);
  return solution && { w: solution.slice(0, inputs[0].length), u: solution.slice(inputs[0].length) };
}

// The least cosine of two signed points; 1 for a single one.
export function leastSignedCosine(inputs, labels) {
  let least = 1;
  inputs.forEach((x, i) => {
    inputs.slice(0, i).forEach((y, k) => {
      least = Math.min(least, (labels[i] * labels[k] * dot(x, y)) / Math.sqrt(dot(x, x) * dot(y, y)));
    });
  });
  return least;
}
