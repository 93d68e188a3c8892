/**
 * Waits for a condition, polled every few milliseconds, and fails with a message after a time-out. Tests wait for
 * events, never for a fixed time. A condition that asks a process or a store costs CPU of all of them, so the longer it
 * is not met, the less often it is asked.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 10
const LONGEST_POLL_MS = 50
/** The pause is at most this part of the time that has passed. */
const POLL_SHARE = 1 / 20
const DEFAULT_TIMEOUT_MS = 60_000

/** Rejects with what `describeFailure` says if the condition is not met within `timeoutMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  describeFailure = (): string | Promise<string> => 'it did not happen',
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<void> {
  const beganAt = Date.now()
  for (;;) {
    const met = condition()
    if (await met) return
    const passedMs = Date.now() - beganAt
    if (passedMs > timeoutMs) throw new Error(`${await describeFailure()} (waited ${timeoutMs} ms)`)
    const pauseMs = typeof met === 'boolean' ? POLL_MS : Math.max(POLL_MS, passedMs * POLL_SHARE)
    await sleep(Math.min(LONGEST_POLL_MS, pauseMs))
  }
}
