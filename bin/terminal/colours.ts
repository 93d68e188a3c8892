/**
 * Colours on a terminal. `util.styleText` decides whether a stream has colours: not in a pipe, not with NO_COLOR,
 * always with FORCE_COLOR. The text that is coloured here has no control characters of its own any more.
 */
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

export function hasColours(stream: NodeJS.WritableStream): boolean {
  return styleText('bold', 'x', { stream }) !== 'x'
}

function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false })
}

/** Words that are coloured where they are a whole cell of a table, or begin a line. */
const WORDS: readonly (readonly [style: Style, words: string])[] = [
  ['green', 'ok|open|pass|active|verified|delivered|sent|captured|added|joined|completed|COMPLETED|SENT'],
  [
    'yellow',
    'warning|WARN|advised|pending|deferred|unknown|paused|PAUSED|suspended|scheduled|SCHEDULED|waiting|yellow',
  ],
  ['red', 'failed|FAILED|FAIL|HOLDS|MISSING|fail|bounced|suppressed|deactivated|expired|disabled|CANCELLED|red'],
]
const CELLS = WORDS.map(([style, words]) => ({
  style,
  pattern: new RegExp(String.raw`(?<=^ {0,2}|[^ ] {2,})(?:${words})(?=$| )`, 'gm'),
}))
/** The head of a table: two words or more in capitals, separated by two spaces. */
const HEAD = /^(?: +)?[A-Z][A-Z ()]*(?: {2,}[A-Z][A-Z ()]*)+$/gm

/** Colours the states and the heads of tables in the result of a command. */
export function colourResult(text: string, isColoured: boolean): string {
  if (!isColoured) return text
  const cells = CELLS.reduce((done, { style, pattern }) => done.replace(pattern, (word) => paint(style, word)), text)
  return cells.replace(HEAD, (head) => paint('bold', head))
}

/** Colours the first line of an error. */
export function colourError(text: string, isColoured: boolean): string {
  return isColoured ? text.replace(/^.*/, (line) => paint('red', line)) : text
}

/** A heading of a help text. */
export function heading(text: string): string {
  return paint('bold', text)
}

/** An example, or another text that a person types. */
export function typed(text: string): string {
  return paint('cyan', text)
}
