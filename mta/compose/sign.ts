/**
 * DKIM signatures (RFC 6376; RFC 8463 for Ed25519), and the only file that knows of them.
 *
 * relaxed/relaxed, the whole body (no l=), no expiry (no x=): a mail that waited a week must still verify.
 * The body is hashed once for all keys; private keys are read once and kept as key objects; the
 * signing itself happens off the main thread. Every field that a reader sees is listed once more than it
 * is there ("oversigned", RFC 6376 §8.15), so that none can be added later.
 */
import { createHash, createPrivateKey, hash, sign as signData } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createTurnstile } from '#src/turnstile.ts'
import type { Composed, Field } from './draft.ts'

export interface SigningKey {
  /** Names this key and no other, ever: what was read from `privateKey` is kept under it. */
  readonly keyId: string
  /** The d= tag: lower case, A-labels. */
  readonly domain: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS#8 as DER or PEM, or how to come by it (opening a seal costs), called only when the key is not known yet. */
  readonly privateKey: string | Buffer | (() => string | Buffer)
}

type Sign = (message: Pick<Composed, 'fields' | 'body'>, keys: readonly SigningKey[], at?: Date) => Promise<string>

/** Signed where they are, and listed even where they are not: adding one would change what the reader sees. */
const ALWAYS = ['from', 'reply-to', 'subject', 'date', 'message-id', 'to', 'cc']
/** Signed where they are. Lists, gateways and readers add some of these to mail that has none, which is theirs to do. */
const WHERE_PRESENT = ['mime-version', 'content-type', 'content-transfer-encoding', 'sender', 'in-reply-to', 'references', 'auto-submitted',
  'list-id', 'list-help', 'list-unsubscribe', 'list-unsubscribe-post', 'list-subscribe', 'list-post', 'list-owner', 'list-archive',
  'feedback-id', 'importance', 'bimi-selector']
const NAMES = [...ALWAYS, ...WHERE_PRESENT]
const IS_ALWAYS: ReadonlySet<string> = new Set(ALWAYS)

/** Folds, tabs and runs of spaces; a value without them is canonical but for one space at either end. */
const TO_RELAX = /[ \r\n]{2}|[\t\n]/
const LINE = 76
const SLICE = 64 * 1024
const KEPT_KEYS = 2000
/** Signatures under way, for four threads. More would only need more key objects: reading one costs a tenth of a signature. */
const AT_ONCE = 8
const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32
const signAside = promisify(signData)

/** A signer with its own memory of keys, at most `capacity` of them (an RSA key object takes about 5 KB). */
export function createSigner(capacity = KEPT_KEYS): Sign {
  const kept = new Map<string, KeyRing>()
  const inTurn = createTurnstile(AT_ONCE)
  return async (message, keys, at = new Date()) => {
    if (keys.length === 0) return ''
    const signed = pickFields(message.fields)
    const bodyHash = await hashBody(message.body)
    const fields = await Promise.all(keys.map(async (key) => {
      const unsigned = writeSignature(key, signed.names, bodyHash, at)
      const data = Buffer.from(signed.canonical + canonicalField('dkim-signature', unsigned), 'latin1')
      const ring = ringOf(kept, capacity, key)
      const signature = await inTurn(() => signAlone(ring, data))
      return `${unsigned}${foldBase64(signature.toString('base64'))}\r\n`
    }))
    return fields.join('')
  }
}

/**
 * One DKIM-Signature field per key, in order, each with its line end, to stand in front of the message: '' without keys.
 * `at` becomes t=. Rejects when a key cannot be read; the text names it. All callers in a process share one memory of keys.
 */
export const sign: Sign = createSigner()

/** RFC 6376 §3.7: the signature is over the header's hash; RFC 8463 §3: with Ed25519 over the hash as a message of its own. */
function signWith(key: KeyObject, isRsa: boolean, data: Buffer): Promise<Buffer> {
  return isRsa ? signAside('sha256', data, key) : signAside(null, hash('sha256', data, 'buffer'), key)
}

/**
 * One key as several key objects. OpenSSL signs under a lock of the key object, which also the main thread takes when it hands over work:
 * with one object all signatures wait for each other, and the event loop with them. So each signature under way has an object of its own.
 */
interface KeyRing {
  /** Asking the key object costs a lock each time. */
  readonly isRsa: boolean
  readonly idle: KeyObject[]
  readonly another: () => KeyObject
}

async function signAlone(ring: KeyRing, data: Buffer): Promise<Buffer> {
  const key = ring.idle.pop() ?? ring.another()
  try {
    return await signWith(key, ring.isRsa, data)
  } finally {
    ring.idle.push(key)
  }
}

/** The ring of a key, the least recently used making room for a new one. */
function ringOf(kept: Map<string, KeyRing>, capacity: number, key: SigningKey): KeyRing {
  const known = kept.get(key.keyId)
  if (known !== undefined) {
    kept.delete(key.keyId)
    kept.set(key.keyId, known)
    return known
  }
  const first = readKey(key)
  const material = first.export({ type: 'pkcs8', format: 'der' })
  const ring: KeyRing = { isRsa: first.asymmetricKeyType === 'rsa', idle: [first], another: () => createPrivateKey({ key: material, format: 'der', type: 'pkcs8' }) }
  kept.set(key.keyId, ring)
  const [oldest] = kept.keys()
  if (kept.size > capacity && oldest !== undefined) kept.delete(oldest)
  return ring
}

function readKey({ keyId, selector, domain, algorithm, privateKey }: SigningKey): KeyObject {
  const name = `DKIM key ${keyId} (${selector}._domainkey.${domain})`
  const material = typeof privateKey === 'function' ? privateKey() : privateKey
  const isDer = typeof material !== 'string' && material[0] === 0x30 // an ASN.1 SEQUENCE, where PEM has a dash
  let key: KeyObject
  try {
    key = createPrivateKey(isDer ? { key: material, format: 'der', type: 'pkcs8' } : material)
  } catch (cause) {
    throw new Error(`${name} cannot be read`, { cause })
  }
  if (key.asymmetricKeyType !== algorithm.slice(0, algorithm.indexOf('-'))) throw new Error(`${name} is not for ${algorithm}`)
  return key
}

interface Signed { readonly names: readonly string[]; readonly canonical: string }

/**
 * The h= list and the canonical header it stands for. Of fields with one name the last is taken first (§5.4.2);
 * the name past them all is the oversigning.
 */
function pickFields(fields: readonly Field[]): Signed {
  const names: string[] = []
  let canonical = ''
  for (const name of NAMES) {
    const before = names.length
    for (let i = fields.length - 1; i >= 0; i--) {
      const field = fields[i]
      if (field?.name !== name) continue
      names.push(name)
      canonical += `${canonicalField(name, field.line)}\r\n`
    }
    if (names.length > before || IS_ALWAYS.has(name)) names.push(name)
  }
  return { names, canonical }
}

/** §3.4.2, without a line end. `line` has one character per octet; only space and tab are white space. */
function canonicalField(name: string, line: string): string {
  const value = line.slice(line.indexOf(':') + 1, line.endsWith('\r\n') ? -2 : undefined)
  const relaxed = TO_RELAX.test(value) ? value.replace(/\r?\n/g, '').replace(/[ \t]+/g, ' ') : value
  return `${name}:${relaxed.slice(relaxed.startsWith(' ') ? 1 : 0, relaxed.length > 1 && relaxed.endsWith(' ') ? -1 : undefined)}`
}

/** The field up to and with `b=`, which has to be its end (§3.7: hashed with an empty b=). */
function writeSignature(key: SigningKey, names: readonly string[], bodyHash: string, at: Date): string {
  const tags = ['DKIM-Signature: v=1; ', `a=${key.algorithm}; `, 'c=relaxed/relaxed; ', `d=${key.domain}; `, `s=${key.selector}; `,
    `t=${Math.floor(at.getTime() / 1000)}; `, `bh=${bodyHash}; `, 'h=',
    ...names.slice(0, -1).map((name) => `${name}:`), `${names.at(-1)}; `, 'b=']
  // White space may stand before a tag and on either side of the colons of h= (§3.5).
  let text = ''
  let line = ''
  for (const tag of tags) {
    if (line.length + tag.trimEnd().length > LINE) {
      text += `${line.trimEnd()}\r\n`
      line = ' '
    }
    line += tag
  }
  return text + line
}

function foldBase64(text: string): string {
  let folded = ''
  for (let from = 0; from < text.length; from += LINE - 1) folded += `\r\n ${text.slice(from, from + LINE - 1)}`
  return folded
}

/**
 * The bh= tag: SHA-256 over the relaxed body (§3.4.4) in base64. A test holds it equal to mailauth's on any octets; that one takes
 * four times as long for indented HTML, and seconds for a few megabytes of bare LF. Large bodies go in slices, so that others have
 * their turn.
 */
export async function hashBody(body: Buffer): Promise<string> {
  const hasher = createHash('sha256')
  let isEmpty = true
  let heldLineEnds = 0 // those at the end of what was read so far: part of the body only if something follows
  for (let from = 0, to = 0; from < body.length; from = to) {
    if (from > 0) await setImmediate()
    const cut = body.length - from <= SLICE ? -1 : body.indexOf(LF, from + SLICE)
    to = cut < 0 ? body.length : cut + 1
    const lines = relaxLines(body.subarray(from, to))
    const end = trimLineEnds(lines)
    if (end > 0) {
      if (heldLineEnds > 0) hasher.update(Buffer.alloc(heldLineEnds * 2, '\r\n'))
      hasher.update(lines.subarray(0, end))
      heldLineEnds = 0
      isEmpty = false
    }
    heldLineEnds += (lines.length - end) / 2
  }
  if (!isEmpty) hasher.update('\r\n')
  return hasher.digest('base64')
}

/** Whole lines (the last may lack its end) relaxed, uncopied where they are so already. A bare LF ends a line, a bare CR does not. */
function relaxLines(lines: Buffer): Buffer {
  const from = firstChange(lines)
  if (from === lines.length) return lines
  const out = Buffer.allocUnsafe(from + (lines.length - from) * 2) // twice: all that follows might be bare LF
  let n = lines.copy(out, 0, 0, from)
  let hasSpace = false
  for (let i = from; i < lines.length; i++) {
    const c = lines[i] ?? 0
    if (c === SPACE || c === TAB) {
      hasSpace = true
    } else if (c === LF || (c === CR && lines[i + 1] === LF)) {
      hasSpace = false
      out[n++] = CR
      out[n++] = LF
      if (c === CR) i++
    } else {
      if (hasSpace) out[n++] = SPACE
      hasSpace = false
      out[n++] = c
    }
  }
  return out.subarray(0, n)
}

/** Where relaxing might begin to change something: a tab, a space before white space or at the end, a bare LF; else the body's length. */
function firstChange(body: Buffer): number {
  for (let i = 0; i < body.length; i++) {
    const c = body[i] ?? 0
    if (c > SPACE) continue
    if (c === CR && body[i + 1] === LF) i++
    else if (c === TAB || c === LF) return i
    else if (c === SPACE && (body[i + 1] ?? 0) <= SPACE) return i
  }
  return body.length
}

/** The length without the line ends at the end. */
function trimLineEnds(bytes: Buffer): number {
  let end = bytes.length
  while (end >= 2 && bytes[end - 1] === LF && bytes[end - 2] === CR) end -= 2
  return end
}
