// Functions that several figures share.
export const sigmoid = (u) => 1 / (1 + Math.exp(-u));

// The inner product in the plane.
export const dot = ([a, b], [c, d]) => a * c + b * d;
