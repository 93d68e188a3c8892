/** Waits between tries: a step of a table, spread by jitter so that what failed together does not return together. */

/** Share of a wait that is random. */
const JITTER = 0.2

/**
 * Milliseconds to wait after try number `tries` (1 = the first has just failed).
 * @param random a number in [0, 1)
 */
export function backoffMs(
  stepsSeconds: readonly number[],
  tries: number,
  scale: number,
  random: number = Math.random(),
): number {
  const step = stepsSeconds[Math.min(Math.max(tries, 1), stepsSeconds.length) - 1] ?? 0
  return Math.max(1, Math.round(step * 1000 * scale * (1 - JITTER / 2 + JITTER * random)))
}
