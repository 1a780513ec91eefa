// Random numbers that are the same on every machine: pairs of independent standard normal numbers, by the polar
// method on a small linear generator.
export function gaussianPairs(count, seed = 1) {
  let state = seed;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  return Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}
