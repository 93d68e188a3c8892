/**
 * Waiting for something to be so: looked at every few milliseconds, given up with a sentence. Tests wait for what happened, never for a
 * while.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 10
const PATIENCE_MS = 20_000

/** Rejects with what `complaint` says when it is not so within `patienceMs`. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  complaint = (): string => 'it did not happen',
  patienceMs = PATIENCE_MS,
): Promise<void> {
  for (const end = Date.now() + patienceMs; !(await isSo()); await sleep(LOOK_MS))
    if (Date.now() > end) throw new Error(`${complaint()} (waited ${patienceMs} ms)`)
}
