/**
 * JSON lines on stdout. Each line about mail carries id, from and to; secrets and bodies are never logged.
 * Lines are gathered and written off the path of the mail, at most half a second late; an orderly end loses none of them, a kill -9 may lose
 * that half second. What must be known of a mail is in the database. A reader of stdout that went away stops nothing.
 */
import { writeSync } from 'node:fs'
import { pino, stdTimeFunctions, type Logger } from 'pino'
import type { Config } from '#config/load.ts'

export type Log = Logger

const GATHER_BYTES = 16_384
const GATHER_MS = 500
const STDOUT = 1

export function openLog(config: Pick<Config, 'logLevel'>, process: string): Log {
  if (config.logLevel === 'silent') return pino({ level: 'silent' })
  return pino({ level: config.logLevel, base: { process }, timestamp: stdTimeFunctions.isoTime }, gatherLines())
}

/** Gathers lines for `process.stdout`, which waits for a slow reader by itself and complains of a lost one by an event. */
function gatherLines(): { write(line: string): void } {
  const { stdout } = process
  let lines = ''
  stdout.on('error', () => undefined)
  setInterval(flush, GATHER_MS).unref()
  process.once('exit', () => writeLast(lines))
  function flush(): void {
    if (lines === '') return
    if (stdout.writable) stdout.write(lines)
    lines = ''
  }
  return {
    write: (line) => {
      lines += line
      if (lines.length >= GATHER_BYTES) flush()
    },
  }
}

/** The last lines of a process that ends now. */
function writeLast(lines: string): void {
  try {
    if (lines !== '') writeSync(STDOUT, lines)
  } catch {
    // nobody reads any more
  }
}
