/**
 * Prints the warnings and errors of a child's log at the terminal, one line each, and lines that are not JSON (the
 * output of a crash), without control characters. Of each child at most ten lines in ten seconds are printed, then
 * their number and the name of the log file. Everything else is in the log file only.
 */
import { lineText } from '#bin/terminal/terminal-text.ts'
import type { PrintLine } from './user-error.ts'

const MAX_LINES = 10
const WINDOW_MS = 10_000
/** The levels of pino. */
const LEVELS: ReadonlyMap<unknown, string> = new Map([
  [40, 'warning'],
  [50, 'error'],
  [60, 'fatal'],
])
const RELEVANT_LINE = /"level":[456]0|^[^{]/m

/** Returns a function that accepts chunks of the log, split anywhere. `now` is the clock in ms. */
export function showWarnings(
  name: string,
  logFile: string,
  printLine: PrintLine,
  now: () => number = Date.now,
): (chunk: Buffer) => void {
  let rest = ''
  let windowStart = -Infinity
  let shown = 0
  const show = (line: string): void => {
    if (now() - windowStart > WINDOW_MS) {
      if (shown > MAX_LINES) printLine(`${name}: ${shown - MAX_LINES} more, see ${logFile}`)
      windowStart = now()
      shown = 0
    }
    shown += 1
    if (shown <= MAX_LINES) printLine(`${name}: ${lineText(line)}`)
    if (shown === MAX_LINES) printLine(`${name}: further messages are in ${logFile}`)
  }
  return (chunk) => {
    const text = rest + chunk.toString()
    const end = text.lastIndexOf('\n') + 1
    rest = text.slice(end)
    if (!RELEVANT_LINE.test(text)) return
    for (const line of text.slice(0, end).split('\n')) {
      const formatted = RELEVANT_LINE.test(line) ? formatLine(line) : null
      if (formatted !== null) show(formatted)
    }
  }
}

/** Formats an entry as `warning: Redis is away (connect ENOENT)`; null if it is below a warning. */
function formatLine(line: string): string | null {
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
