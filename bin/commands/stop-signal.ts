/**
 * When a process is to stop: SIGTERM, SIGINT, the end of its terminal (SIGHUP), or the end of the supervisor at the other end of the IPC
 * channel. Under `npm start`, Ctrl-C arrives twice (from the terminal and forwarded by npm), so only a second signal after a moment means
 * "at once".
 *
 * Without a terminal SIGHUP means "read your files again", as everywhere; it stops nothing, and what may change while it runs (the shaping
 * file, certificates) is looked at every second anyway.
 */
import { isatty } from 'node:tty'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const TWIN_MS = 1000

/** Aborted at the first wish to stop. The second ends the process with `atOnce`. Call it once, early. */
export function watchForStop(atOnce: () => void = () => process.exit(1)): AbortSignal {
  const stop = new AbortController()
  let firstAt = 0
  const wish = (): void => {
    if (firstAt === 0) {
      firstAt = Date.now()
      stop.abort()
    } else if (Date.now() - firstAt > TWIN_MS) atOnce()
  }
  for (const signal of SIGNALS) process.on(signal, wish)
  process.on('SIGHUP', isatty(0) ? wish : () => undefined)
  if (process.connected)
    process.once('disconnect', () => {
      if (firstAt === 0) wish()
    })
  return stop.signal
}

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
