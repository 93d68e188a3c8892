/**
 * The Content-Disposition of a file. A name that is not plain ASCII is written twice: exactly, as `filename*` (RFC
 * 2231), and as an ASCII approximation in `filename`, for programs that read only that one. Without it they show such a
 * file without name and type. Any name gives one valid field: it cannot end the field or begin another.
 */

export type DispositionType = 'attachment' | 'inline'

/** Octets of an encoded value on one line; a longer one is split into numbered sections (RFC 2231 §3). */
const MAX_SECTION = 54
/** Longer ASCII names are split as well: a quoted string cannot be folded. */
const MAX_PLAIN = 200
const FALLBACK = 'attachment'

/** The value of the field, folded. */
export function dispositionOf(type: DispositionType, filename: string): string {
  const plain = filename.length <= MAX_PLAIN && /^[ -~]*$/.test(filename)
  const parameters = plain
    ? [`filename=${quote(filename)}`]
    : [...encodedSections(filename), `filename=${quote(approximate(filename))}`]
  return [type, ...parameters].join(';\r\n ')
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

/** RFC 2231 §7: attribute-char; everything else is percent-encoded. */
function encodedSections(filename: string): string[] {
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(/[!'()*]/g, percentEncode)
  if (encoded.length <= MAX_SECTION) return [`filename*=utf-8''${encoded}`]
  // never in the middle of a percent code
  const sections = encoded.match(new RegExp(`(?:%..|[^%]){1,${MAX_SECTION / 3}}`, 'g')) ?? ['']
  return sections.map((section, i) => `filename*${i}*=${i === 0 ? "utf-8''" : ''}${section}`)
}

function percentEncode(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}

/** `Übersicht.pdf` becomes `Ubersicht.pdf`; letters without an ASCII form become `_`. The extension stays. */
function approximate(filename: string): string {
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(filename)?.[0] ?? ''
  const stem = filename
    .slice(0, filename.length - extension.length)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^ -~]+/g, '_')
    .slice(0, MAX_PLAIN)
  return (/[A-Za-z0-9]/.test(stem) ? stem : FALLBACK) + extension
}
