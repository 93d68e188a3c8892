/**
 * Logs JSON lines to stdout. Each line about mail has id, from and to; secrets and bodies are never logged.
 * Lines are buffered and written at most half a second later, so that logging does not slow down delivery. A normal
 * exit writes all of them; a kill -9 may lose that half second. The database, not the log, is the record of a message.
 * If the reader of stdout goes away, the process continues. With LOG_ADDRESS_KEY, lines contain hashes of addresses.
 */
import { writeSync } from 'node:fs'
import { pino, stdTimeFunctions, type Logger } from 'pino'
import type { Config } from '#config/load.ts'
import { hashAddresses } from './log-addresses.ts'

export type Log = Logger

const BUFFER_BYTES = 16_384
const FLUSH_EVERY_MS = 500
const STDOUT = 1

type LogSettings = Pick<Config, 'logLevel'> & Partial<Pick<Config, 'logAddressKey'>>

export function openLog(config: LogSettings, process: string): Log {
  if (config.logLevel === 'silent') return pino({ level: 'silent' })
  return pino(
    { level: config.logLevel, base: { process }, timestamp: stdTimeFunctions.isoTime },
    createBufferedStdout(config.logAddressKey ?? null),
  )
}

/** Buffers lines for `process.stdout`, which handles a slow reader itself and emits `error` when the reader is gone. */
function createBufferedStdout(addressKey: string | null): { write(line: string): void } {
  const { stdout } = process
  let lines = ''
  stdout.on('error', () => undefined)
  setInterval(flush, FLUSH_EVERY_MS).unref()
  process.once('exit', () => writeRemaining(lines))
  function flush(): void {
    if (lines === '') return
    if (stdout.writable) stdout.write(lines)
    lines = ''
  }
  return {
    write: (line) => {
      lines += addressKey === null ? line : hashAddresses(addressKey, line)
      if (lines.length >= BUFFER_BYTES) flush()
    },
  }
}

/** Writes the buffered lines synchronously while the process exits. */
function writeRemaining(lines: string): void {
  try {
    if (lines !== '') writeSync(STDOUT, lines)
  } catch {
    // the reader is gone
  }
}
