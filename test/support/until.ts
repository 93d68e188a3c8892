/**
 * Waits for a condition, polled every few milliseconds, and fails with a message after a time-out. Tests wait for
 * events, never for a fixed time.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 10
const DEFAULT_TIMEOUT_MS = 60_000

/** Rejects with what `complaint` says when it is not so within `patienceMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  describeFailure = (): string | Promise<string> => 'it did not happen',
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await condition()); await sleep(POLL_MS))
    if (Date.now() > end) throw new Error(`${await describeFailure()} (waited ${timeoutMs} ms)`)
}
