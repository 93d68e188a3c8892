/**
 * Delays between attempts: a step of a table with jitter, so that failures at one moment do not retry at one moment.
 */

/** The random share of a delay. */
const JITTER = 0.2

/**
 * Milliseconds to wait after `attempts` failed attempts (1 = the first has just failed).
 * @param random a number in [0, 1)
 */
export function backoffMs(
  stepsSeconds: readonly number[],
  attempts: number,
  scale: number,
  random: number = Math.random(),
): number {
  const step = stepsSeconds[Math.min(Math.max(attempts, 1), stepsSeconds.length) - 1] ?? 0
  return Math.max(1, Math.round(step * 1000 * scale * (1 - JITTER / 2 + JITTER * random)))
}
