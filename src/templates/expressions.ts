/**
 * Finds the Handlebars expressions of a source, so that tools for HTML, CSS or MJML can work around them. Follows
 * Handlebars' lexer: strings in expressions may contain braces, `\{{` is plain text, a comment ends at its own
 * terminator. Use only for sources that passed validation. One linear pass.
 */

export type ExpressionKind = 'value' | 'raw-value' | 'open' | 'else' | 'close' | 'comment' | 'partial' | 'raw-block'

export interface Expression {
  readonly kind: ExpressionKind
  /** Offsets in the source; `end` is exclusive. */
  readonly start: number
  readonly end: number
}

const OPEN_BRACES = '{{'
/** The tokens of an expression: strings, bracketed segments, the closing braces, any other character. */
const TOKEN = /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[(?:\\\]|[^\]])*\]|\}~?\}\}|~?\}\}|[\s\S]/y
const END_TOKEN = /^\}?~?\}\}$/
/** The first pattern that matches the text after the braces decides the kind. */
const KIND_PATTERNS: readonly (readonly [sign: RegExp, kind: ExpressionKind])[] = [
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
  for (let at = source.indexOf(OPEN_BRACES); at >= 0;) {
    if (isEscaped(source, at)) {
      at = source.indexOf(OPEN_BRACES, at + OPEN_BRACES.length)
      continue
    }
    const expression = readAt(source, at)
    found.push(expression)
    at = source.indexOf(OPEN_BRACES, expression.end)
  }
  return found
}

/** `\{{` is literal text; `\\{{` is a backslash followed by an expression. */
function isEscaped(source: string, at: number): boolean {
  return source[at - 1] === '\\' && source[at - 2] !== '\\'
}

function readAt(source: string, start: number): Expression {
  if (source.startsWith('{{{{', start)) return { kind: 'raw-block', start, end: endOfRawBlock(source, start) }
  const inner = source[start + 2] === '~' ? start + 3 : start + 2
  if (source[inner] === '!') return { kind: 'comment', start, end: endOfComment(source, inner) }
  const end = endOfExpression(source, inner)
  const text = source.slice(inner, end)
  return { kind: KIND_PATTERNS.find(([sign]) => sign.test(text))?.[1] ?? 'value', start, end }
}

function endOfComment(source: string, inner: number): number {
  const closing = source.startsWith('!--', inner) ? /--~?\}\}/g : /\}\}/g
  closing.lastIndex = inner + 1
  return closing.exec(source) === null ? source.length : closing.lastIndex
}

function endOfExpression(source: string, inner: number): number {
  TOKEN.lastIndex = inner
  for (let piece = TOKEN.exec(source); piece !== null; piece = TOKEN.exec(source)) {
    if (END_TOKEN.test(piece[0])) return TOKEN.lastIndex
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
 * Replaces each expression with letters of the same length. Offsets and line numbers stay the same, and the letters
 * have no meaning in HTML, CSS or MJML.
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

/** Replaces each character of an expression. */
export const MASK = 'x'

/** Line number of an offset, counting from 1. */
export function lineAt(source: string, offset: number): number {
  let line = 1
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++
  return line
}
