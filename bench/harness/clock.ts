/**
 * The one clock of the benchmark: milliseconds of CLOCK_MONOTONIC, the same in
 * every process of this machine, so a time taken by the load generator and one
 * taken by the sink can be subtracted. Wall-clock steps do not disturb it.
 */

/** Milliseconds with a fraction; only differences mean something. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
