// The scale of a start, ten to the power of -N.
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const POWERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000];

export const tenToMinus = (power) => `10⁻${[...String(power)].map((digit) => SUPERSCRIPTS[digit] ?? "·").join("")}`;
