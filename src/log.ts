/** JSON lines on stdout. Each line about mail carries id, from and to; secrets and bodies are never logged. */
import { pino, type Logger } from 'pino'
import type { Config } from '#config/load.ts'

export type Log = Logger

export function openLog(config: Pick<Config, 'logLevel'>, process: string): Log {
  return pino({ level: config.logLevel, base: { process }, timestamp: pino.stdTimeFunctions.isoTime })
}
