// What a network says on a square: where it is positive or negative, and the line between.

const FAINT = 1e-5; // of the largest value: below this the network is taken to say nothing

// Values of the network on a grid of `count` points a side of the square [-half, half]^2, row by row from below;
// zero where they are faint.
export function sampled({ w, a, m, d, slope }, half, count) {
  const values = new Float64Array(count * count);
  const at = (k) => half * ((2 * k) / (count - 1) - 1);
  for (let j = 0; j < m; j += 1) {
    const bias = d > 2 ? w[j * d + 2] : 0;
    for (let row = 0; row < count; row += 1) {
      const height = w[j * d + 1] * at(row) + bias;
      for (let column = 0; column < count; column += 1) {
        const z = w[j * d] * at(column) + height;
        values[row * count + column] += a[j] * (z > 0 ? z : slope * z);
      }
    }
  }
  const faint = FAINT * values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return values.map((value) => (Math.abs(value) > faint ? value : 0));
}

// The intervals [row, from, to] of each row, in units of the grid, on which sign * value exceeds a bound.
export function above(values, count, sign, bound) {
  const found = [];
  for (let row = 0; row < count; row += 1) {
    const value = (k) => sign * values[row * count + k] - bound;
    let from = value(0) > 0 ? 0 : null;
    for (let k = 1; k < count; k += 1) {
      if (value(k) > 0 === (from !== null)) continue;
      const crossing = k - 1 + value(k - 1) / (value(k - 1) - value(k));
      if (from === null) from = crossing;
      else {
        found.push([row, from, crossing]);
        from = null;
      }
    }
    if (from !== null) found.push([row, from, count - 1]);
  }
  return found;
}

// The boundary as segments between points [column, row] of the grid: each square is cut into two triangles, in which
// the values are taken to be linear. Next to where the network says nothing there is none.
export function zeroLine(values, count) {
  const value = ([column, row]) => values[row * count + column];
  const between = (p, q) => {
    const share = value(p) / (value(p) - value(q));
    return [p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])];
  };
  const segments = [];
  for (let row = 0; row + 1 < count; row += 1) {
    for (let column = 0; column + 1 < count; column += 1) {
      const [low, high] = [[column, row], [column + 1, row + 1]];
      for (const corner of [[column + 1, row], [column, row + 1]]) {
        const triangle = [low, corner, high];
        const cuts = triangle
          .map((p, k) => [p, triangle[(k + 1) % 3]])
          .filter(([p, q]) => value(p) * value(q) < 0)
          .map(([p, q]) => between(p, q));
        if (cuts.length === 2) segments.push(cuts);
      }
    }
  }
  return segments;
}

// The part of the line <normal, (x, y, 1)> = 0 within the square, as two points, or null.
export function within([p, q, bias = 0], half) {
  const square = p * p + q * q;
  if (!(square > 0)) return null;
  const foot = [(-bias * p) / square, (-bias * q) / square];
  const length = Math.sqrt(square);
  const [along, up] = [-q / length, p / length];
  let [low, high] = [-Infinity, Infinity];
  for (const [start, speed] of [[foot[0], along], [foot[1], up]]) {
    if (Math.abs(speed) < 1e-12) {
      if (Math.abs(start) > half) return null;
      continue;
    }
    const ends = [(-half - start) / speed, (half - start) / speed];
    low = Math.max(low, Math.min(...ends));
    high = Math.min(high, Math.max(...ends));
  }
  return low < high ? [low, high].map((t) => [foot[0] + t * along, foot[1] + t * up]) : null;
}
