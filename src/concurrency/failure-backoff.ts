/**
 * The pause of a loop that fails: it doubles with each failure in a row, so that a store which refuses everything is
 * not asked without end, and one success ends it. The first failure of a row is logged at `warn`, the others at
 * `debug`: the log of a long outage stays readable.
 */
import type { Log } from '#src/platform/log.ts'

export interface FailureBackoff {
  /** Logs the failure, and returns how long to wait before the next attempt. */
  failed(error: unknown): number
  succeeded(): void
}

export interface FailureBackoffOptions {
  /** What failed, for the log, and fields of its line. */
  readonly message: string
  readonly fields?: Readonly<Record<string, unknown>>
  readonly firstMs: number
  readonly longestMs: number
}

export function createFailureBackoff(
  log: Log,
  { message, fields = {}, firstMs, longestMs }: FailureBackoffOptions,
): FailureBackoff {
  let failures = 0
  return {
    failed: (error) => {
      log[failures === 0 ? 'warn' : 'debug']({ err: error, ...fields }, message)
      return Math.min(longestMs, firstMs * 2 ** failures++)
    },
    succeeded: () => {
      if (failures > 0) log.info({ failures, ...fields }, `works again; before: ${message}`)
      failures = 0
    },
  }
}
