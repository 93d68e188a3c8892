/**
 * Finds the words that explain a failure to a person, in the text of a notice: for reports whose Diagnostic-Code is
 * missing or only a number (`X-Unix; 73` is the exit status of a program). Never throws.
 */
import { collapseWhitespace } from './text-patterns.ts'

const MAX_TEXT = 10_000
const MAX_REASON = 2000

export interface ReasonSource {
  readonly address: string
  /** What the notice says about this address; null if it has no entry for it. */
  readonly entry: string | null
  readonly notice: string
}

/**
 * Prefers the reply of a server, then a paragraph that `isReason` recognizes, then the first paragraph about this
 * address. Returns null if there is none.
 */
export function findQuotedReason(
  { address, entry, notice }: ReasonSource,
  isReason: (text: string) => boolean,
): string | null {
  const own = linesOf(entry ?? '')
  const paragraphs = paragraphsOf(own, address)
  const found =
    findReply(own) ??
    paragraphs.find(isReason) ??
    paragraphs[0] ??
    (entry === null ? findReply(linesOf(notice)) : null) ??
    paragraphsOf(linesOf(notice), address).find(isReason)
  return found?.slice(0, MAX_REASON) ?? null
}

function linesOf(text: string): string[] {
  return text.slice(0, MAX_TEXT).split('\n')
}

function findReply(lines: readonly string[]): string | null {
  const line = lines.find((one) => /(?:^|\s)[245]\d\d[ -]/.test(one))
  return line === undefined ? null : unwrap(line).trim()
}

/** Joins wrapped lines, without what is no reason: the address, its origin, headings and rulers. */
function paragraphsOf(lines: readonly string[], address: string): string[] {
  const joined = lines.map((line) => (isNoise(line.trim()) ? '' : withoutAddress(line.trim(), address))).join('\n')
  return joined
    .split(/\n{2,}/)
    .map((paragraph) => unwrap(collapseWhitespace(paragraph).trim()))
    .filter((paragraph) => /\p{L}{2}/u.test(paragraph))
}

/** Headings such as "because:", "(expanded from: …)", "----- Transcript of session follows -----". */
function isNoise(line: string): boolean {
  return (
    /^[-=_*+]{2,}/.test(line) ||
    /^\((?:ultimately )?(?:expanded|generated) from\b[^()]*\)$/i.test(line) ||
    /^\(?[\p{L} ]{0,20}:\s*\)?$/u.test(line)
  )
}

/** Removes the address that a line begins with, and the time that old Exchange writes behind it. */
function withoutAddress(line: string, address: string): string {
  const bare = line.replace(/^<([^<>]*)>/, '$1')
  if (!bare.toLowerCase().startsWith(address.toLowerCase())) return line
  const rest = bare.slice(address.length).replace(/^[.\s:;,>-]+/, '')
  return /^on \S.*\d:\d\d/.test(rest) ? '' : rest.trim()
}

/** sendmail writes "(reason: …)", other servers "Reason: …". */
function unwrap(text: string): string {
  return text.replace(/^\s*\((?:reason|explanation): (.*)\)\s*$/i, '$1').replace(/^.{0,200}\breason: (?=\S)/i, '')
}
