/**
 * The clock of the benchmark: milliseconds of CLOCK_MONOTONIC, the same in
 * every process of this machine. Times of the load generator and of the sink
 * can therefore be subtracted. Changes of the wall clock do not affect it.
 */

/** Milliseconds with a fraction; only differences are meaningful. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
