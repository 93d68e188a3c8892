/**
 * JSON lines on stdout. Each line about mail carries id, from and to; secrets and bodies are never logged.
 * Lines are gathered and written off the path of the mail, at most half a second late; an orderly end loses none of them, a kill -9 may lose
 * that half second. What must be known of a mail is in the database.
 */
import { destination, pino, stdTimeFunctions, type Logger } from 'pino'
import type { Config } from '#config/load.ts'

export type Log = Logger

const GATHER_BYTES = 8192
const GATHER_MS = 500

export function openLog(config: Pick<Config, 'logLevel'>, process: string): Log {
  if (config.logLevel === 'silent') return pino({ level: 'silent' })
  const lines = destination({ fd: 1, sync: false, minLength: GATHER_BYTES, periodicFlush: GATHER_MS })
  lines.on('error', () => undefined) // a reader that went away is no reason to stop mail
  globalThis.process.on('exit', () => flush(lines))
  return pino({ level: config.logLevel, base: { process }, timestamp: stdTimeFunctions.isoTime }, lines)
}

function flush(lines: ReturnType<typeof destination>): void {
  try {
    lines.flushSync()
  } catch {
    // not open yet, or gone: nothing to write or nowhere to
  }
}
