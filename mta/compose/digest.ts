/**
 * The data that DKIM signatures cover (RFC 6376 §3.4, §3.7): the header fields listed in h=, relaxed, and the hash of
 * the relaxed body. The whole body (no l=). Every field that a reader sees is listed once more than it occurs
 * ("oversigned", §8.15), so that none can be added later. Needs no key: the result is plain data, which any thread
 * can compute.
 */
import { createHash, hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Composed } from '#src/mime/draft.ts'
import type { HeaderField } from '#src/mail/split-message.ts'
import { loadOctets } from '#src/mime/octets.ts'

/** The data that signatures cover. Plain data: any thread can compute it, without a key. */
export interface DkimDigest {
  /** The h= list. */
  readonly names: readonly string[]
  /** The fields of that list in their signed form. */
  readonly canonical: string
  /** The bh= tag. */
  readonly bodyHash: string
}

/** Signed if present, and listed even if absent: adding one would change what the reader sees. */
const ALWAYS = ['from', 'reply-to', 'subject', 'date', 'message-id', 'to', 'cc']
/** Signed if present. Lists, gateways and readers may add some of these to mail without them. */
const IF_PRESENT = [
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'sender',
  'in-reply-to',
  'references',
  'auto-submitted',
  'list-id',
  'list-help',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-subscribe',
  'list-post',
  'list-owner',
  'list-archive',
  'feedback-id',
  'importance',
  'bimi-selector',
]
const NAMES = [...ALWAYS, ...IF_PRESENT]
const IS_ALWAYS: ReadonlySet<string> = new Set(ALWAYS)

/** Folds, tabs and runs of spaces; a value without them is canonical but for one space at either end. */
const TO_RELAX = /[ \r\n]{2}|[\t\n]/
const SLICE = 64 * 1024
const CR = 13
const LF = 10
const EMPTY = Buffer.alloc(0)
const CRLF = Buffer.from('\r\n')
const LINE_END = '\r\n'

/** `also`: further fields that are signed if present, and not oversigned. */
export async function digestOf(
  { fields, body }: Pick<Composed, 'fields' | 'body'>,
  also: readonly string[] = [],
): Promise<DkimDigest> {
  return { ...pickFields(fields, also), bodyHash: await hashBody(body) }
}

/**
 * The h= list and the canonical header of its fields. Of several fields with one name the last comes first (§5.4.2);
 * one name more than there are fields is the oversigning.
 */
function pickFields(fields: readonly HeaderField[], also: readonly string[]): Omit<DkimDigest, 'bodyHash'> {
  const names: string[] = []
  let canonical = ''
  for (const name of also.length === 0 ? NAMES : [...NAMES, ...also]) {
    const before = names.length
    for (let i = fields.length - 1; i >= 0; i--) {
      const field = fields[i]
      if (field?.name !== name) continue
      names.push(name)
      canonical += `${canonicalField(name, field.line)}\r\n`
    }
    if ((names.length > before && !also.includes(name)) || IS_ALWAYS.has(name)) names.push(name)
  }
  return { names, canonical }
}

/** §3.4.2, without a line end. `line` has one character per octet; only space and tab are white space. */
export function canonicalField(name: string, line: string): string {
  const value = line.slice(line.indexOf(':') + 1, line.endsWith('\r\n') ? -2 : undefined)
  const relaxed = TO_RELAX.test(value) ? value.replace(/\r?\n/g, '').replace(/[ \t]+/g, ' ') : value
  const start = relaxed.startsWith(' ') ? 1 : 0
  const end = relaxed.length > 1 && relaxed.endsWith(' ') ? -1 : undefined
  return `${name}:${relaxed.slice(start, end)}`
}

/**
 * The bh= tag: SHA-256 over the relaxed body (§3.4.4) in base64. A test compares it with mailauth's on any octets;
 * mailauth takes many times as long for indented HTML, and seconds for a few megabytes of bare LF. Large bodies are
 * hashed in slices, so that the event loop goes on.
 */
export async function hashBody(body: Buffer): Promise<string> {
  if (body.length <= SLICE) return hashSmall(loadOctets(body).relaxed())
  const hasher = createHash('sha256')
  let isEmpty = true
  let heldLineEnds = 0 // line ends at the end of the octets read so far: part of the body only if something follows
  for (let from = 0, to = 0; from < body.length; from = to) {
    if (from > 0) await setImmediate()
    const cut = body.length - from <= SLICE ? -1 : body.indexOf(LF, from + SLICE)
    to = cut < 0 ? body.length : cut + 1
    const lines = loadOctets(body.subarray(from, to)).relaxed()
    const end = trimLineEnds(lines)
    if (end > 0) {
      if (heldLineEnds > 0) hasher.update(LINE_END.repeat(heldLineEnds), 'latin1')
      hasher.update(lines.subarray(0, end))
      heldLineEnds = 0
      isEmpty = false
    }
    heldLineEnds += (lines.length - end) / 2
  }
  if (!isEmpty) hasher.update(LINE_END, 'latin1')
  return hasher.digest('base64')
}

/** In one call, which costs less than an object. */
function hashSmall(lines: Buffer): string {
  const end = trimLineEnds(lines)
  const hasLineEnd = lines.length > end
  const covered = end === 0 ? EMPTY : hasLineEnd ? lines.subarray(0, end + 2) : Buffer.concat([lines, CRLF])
  return hash('sha256', covered, 'base64')
}

/** The length without the line ends at the end. */
function trimLineEnds(bytes: Buffer): number {
  let end = bytes.length
  while (end >= 2 && bytes[end - 1] === LF && bytes[end - 2] === CR) end -= 2
  return end
}
