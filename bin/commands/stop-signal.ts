/**
 * The stop signals of a process: SIGTERM, SIGINT, SIGHUP when its terminal closes, and the end of the IPC channel when
 * its supervisor dies. Under `npm start`, Ctrl-C arrives twice (from the terminal, and forwarded by npm), so a second
 * signal forces an exit only if it comes a second later.
 *
 * Without a terminal, SIGHUP conventionally means "reload". It is ignored, because the files that may change at run
 * time (the shaping file, certificates) are checked every second anyway.
 */
import { isatty } from 'node:tty'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const DUPLICATE_MS = 1000

/** The returned signal aborts at the first stop signal; the second calls `forceExit`. Call this once, early. */
export function watchForStop(forceExit: () => void = () => process.exit(1)): AbortSignal {
  const stop = new AbortController()
  let firstAt = 0
  const onStop = (): void => {
    if (firstAt === 0) {
      firstAt = Date.now()
      stop.abort()
    } else if (Date.now() - firstAt > DUPLICATE_MS) forceExit()
  }
  for (const signal of SIGNALS) process.on(signal, onStop)
  process.on('SIGHUP', isatty(0) ? onStop : () => undefined)
  if (process.connected)
    process.once('disconnect', () => {
      if (firstAt === 0) onStop()
    })
  return stop.signal
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
