/**
 * What of a child's log a person at the terminal sees: warnings and errors, in a plain line each, and whatever is no JSON (the last words
 * of a crash), without what steers a terminal, at most ten lines in ten seconds per child, then a count and the name of the log. Everything else is only in the log file.
 */
import { lineText } from '#bin/terminal/terminal-text.ts'
import type { Say } from './user-error.ts'

const MOST = 10
const WINDOW_MS = 10_000
/** pino's numbers: 40 warn, 50 error, 60 fatal. */
const LEVELS: ReadonlyMap<unknown, string> = new Map([
  [40, 'warning'],
  [50, 'error'],
  [60, 'fatal'],
])
const MAY_MATTER = /"level":[456]0|^[^{]/m

/** Takes a piece of the child's log, cut anywhere. `now` is the clock in ms. */
export function showWarnings(
  name: string,
  logFile: string,
  say: Say,
  now: () => number = Date.now,
): (chunk: Buffer) => void {
  let rest = ''
  let windowStart = -Infinity
  let shown = 0
  const show = (line: string): void => {
    if (now() - windowStart > WINDOW_MS) {
      if (shown > MOST) say(`${name}: ${shown - MOST} more, see ${logFile}`)
      windowStart = now()
      shown = 0
    }
    shown += 1
    if (shown <= MOST) say(`${name}: ${lineText(line)}`)
    if (shown === MOST) say(`${name}: further messages are in ${logFile}`)
  }
  return (chunk) => {
    const text = rest + chunk.toString()
    const end = text.lastIndexOf('\n') + 1
    rest = text.slice(end)
    if (!MAY_MATTER.test(text)) return
    for (const line of text.slice(0, end).split('\n')) {
      const told = MAY_MATTER.test(line) ? tell(line) : null
      if (told !== null) show(told)
    }
  }
}

/** `warning: Redis is away (connect ENOENT)`; null for what is no warning. */
function tell(line: string): string | null {
  if (!line.startsWith('{')) return line
  const entry = parse(line)
  const level = LEVELS.get(entry['level'])
  if (level === undefined) return null
  const { err: error, msg: message } = entry
  const cause = typeof error === 'object' && error !== null && 'message' in error ? error.message : null
  return `${level}: ${typeof message === 'string' ? message : line}${typeof cause === 'string' ? ` (${cause})` : ''}`
}

function parse(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
