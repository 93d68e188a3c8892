/**
 * Where the Handlebars expressions of a source stand, so that tools which know only HTML, CSS or MJML can work around them. Reads as
 * Handlebars' own lexer does: strings in expressions may hold braces, `\{{` is plain text, a comment ends where a comment ends. Only for
 * sources that `inspect` took. One pass, linear.
 */

export type ExpressionKind = 'value' | 'raw-value' | 'open' | 'else' | 'close' | 'comment' | 'partial' | 'raw-block'

export interface Expression {
  readonly kind: ExpressionKind
  /** Offsets; the end is behind the last brace. */
  readonly start: number
  readonly end: number
}

const OPEN = '{{'
/** What an expression is made of: strings, segments in brackets, its end, anything else. */
const PIECE = /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[(?:\\\]|[^\]])*\]|\}~?\}\}|~?\}\}|[\s\S]/y
const END = /^\}?~?\}\}$/
/** The first that fits what stands behind the braces. */
const KINDS: readonly (readonly [sign: RegExp, kind: ExpressionKind])[] = [
  [/^>/, 'partial'],
  [/^#/, 'open'],
  [/^\//, 'close'],
  [/^\^\s*~?\}/, 'else'],
  [/^\s*else\b/, 'else'],
  [/^\^/, 'open'],
  [/^[{&]/, 'raw-value'],
]

export function findExpressions(source: string): Expression[] {
  const found: Expression[] = []
  for (let at = source.indexOf(OPEN); at >= 0;) {
    if (isEscaped(source, at)) {
      at = source.indexOf(OPEN, at + OPEN.length)
      continue
    }
    const expression = readAt(source, at)
    found.push(expression)
    at = source.indexOf(OPEN, expression.end)
  }
  return found
}

/** One backslash makes text of it, two are one backslash before an expression. */
function isEscaped(source: string, at: number): boolean {
  return source[at - 1] === '\\' && source[at - 2] !== '\\'
}

function readAt(source: string, start: number): Expression {
  if (source.startsWith('{{{{', start)) return { kind: 'raw-block', start, end: endOfRawBlock(source, start) }
  const inner = source[start + 2] === '~' ? start + 3 : start + 2
  if (source[inner] === '!') return { kind: 'comment', start, end: endOfComment(source, inner) }
  const end = endOfExpression(source, inner)
  const text = source.slice(inner, end)
  return { kind: KINDS.find(([sign]) => sign.test(text))?.[1] ?? 'value', start, end }
}

function endOfComment(source: string, inner: number): number {
  const closing = source.startsWith('!--', inner) ? /--~?\}\}/g : /\}\}/g
  closing.lastIndex = inner + 1
  return closing.exec(source) === null ? source.length : closing.lastIndex
}

function endOfExpression(source: string, inner: number): number {
  PIECE.lastIndex = inner
  for (let piece = PIECE.exec(source); piece !== null; piece = PIECE.exec(source)) {
    if (END.test(piece[0])) return PIECE.lastIndex
  }
  return source.length
}

function endOfRawBlock(source: string, start: number): number {
  const name = /^\{\{\{\{\s*([^\s}]+)/.exec(source.slice(start, start + 300))?.[1] ?? ''
  const close = `{{{{/${name}}}}}`
  const at = source.indexOf(close, start)
  return at < 0 ? source.length : at + close.length
}

/**
 * The source with letters in place of each expression, of the same length, so that every offset stays; lines stay too. Letters mean
 * nothing to HTML, CSS and MJML.
 */
export function maskExpressions(source: string, expressions: readonly Expression[]): string {
  let masked = ''
  let from = 0
  for (const { start, end } of expressions) {
    masked += source.slice(from, start) + source.slice(start, end).replaceAll(/[^\n]/g, MASK)
    from = end
  }
  return masked + source.slice(from)
}

/** What stands for each character of an expression. */
export const MASK = 'x'

/** Counts from 1. */
export function lineAt(source: string, offset: number): number {
  let line = 1
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++
  return line
}
