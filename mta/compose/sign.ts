/**
 * Signs a composed message with DKIM (RFC 6376; RFC 8463 for Ed25519) and joins it in one piece: signatures, header and
 * body. The signatures cover its digest (digest.ts).
 *
 * relaxed/relaxed, no expiry (no x=): a message that waited a week must still verify.
 */
import { canonicalField, digestOf, type DkimDigest } from './digest.ts'
import { joinMessage } from '#src/mime/body-pieces.ts'
import type { Composed } from '#src/mime/draft.ts'
import { createDataSigner, type DataSigner } from './data-signer.ts'
import type { DkimKey } from './key-objects.ts'
import type { RenderedMessage } from './render-thread-job.ts'

export type { DkimKey } from './key-objects.ts'

/** A message to sign. One that another thread rendered has its digest already. */
export type Signable =
  | Pick<Composed, 'head' | 'body' | 'room' | 'fields'>
  | Pick<RenderedMessage, 'head' | 'body' | 'room' | 'digest'>

/** `isUrgent`: see data-signer.ts. */
type Signer = (message: Signable, keys: readonly DkimKey[], at?: Date, isUrgent?: boolean) => Promise<Buffer>

const LINE = 76
const MAX_CACHED_KEYS = 2000

/** A signer with its own cache of at most `capacity` keys. */
export function createSigner(capacity = MAX_CACHED_KEYS): Signer {
  return createMessageSigner(createDataSigner(capacity))
}

function createMessageSigner(signWithKey: DataSigner): Signer {
  return async (message, keys, at = new Date(), isUrgent = false) => {
    if (keys.length === 0) return assemble('', message)
    const digest = 'digest' in message ? message.digest : await digestOf(message)
    const signatures = await Promise.all(
      keys.map(async (key) => {
        const unsigned = writeSignature(key, digest, at)
        const data = Buffer.from(digest.canonical + canonicalField('dkim-signature', unsigned), 'latin1')
        const signature = await signWithKey(key, data, isUrgent)
        return `${unsigned}${foldBase64(signature.toString('base64'))}\r\n`
      }),
    )
    return assemble(signatures.join(''), message)
  }
}

/**
 * Returns the whole message as it goes over the wire: one DKIM-Signature field per key, in order, then header and body.
 * Without keys there are no signatures. `at` becomes t=. Rejects when a key cannot be read; the error names it. All
 * callers in a process share one cache of keys.
 */
export const sign: Signer = (message, keys, at, isUrgent) => signMessage(message, keys, at, isUrgent)

/** The signature of octets that are not a message, such as an ARC seal. */
export const signData: DataSigner = createDataSigner(MAX_CACHED_KEYS)
const signMessage = createMessageSigner(signData)

export function assemble(signatures: string, message: Pick<Signable, 'head' | 'body' | 'room'>): Buffer {
  return joinMessage(signatures + message.head, message)
}

/** The field up to and including `b=`, which must come last (§3.7: hashed with an empty b=). */
function writeSignature(key: DkimKey, digest: DkimDigest, at: Date): string {
  return foldTags(['DKIM-Signature: v=1; ', ...keyTags(key, digest, at)])
}

/** The tags of a signature of a message, from `a=` to `b=`. */
export function keyTags(key: DkimKey, { names, bodyHash }: DkimDigest, at: Date): string[] {
  return [
    `a=${key.algorithm}; `,
    'c=relaxed/relaxed; ',
    `d=${key.domain}; `,
    `s=${key.selector}; `,
    `t=${Math.floor(at.getTime() / 1000)}; `,
    `bh=${bodyHash}; `,
    'h=',
    ...names.slice(0, -1).map((name) => `${name}:`),
    `${names.at(-1)}; `,
    'b=',
  ]
}

/** Joins tags in lines. White space may stand before a tag and on either side of the colons of h= (§3.5). */
export function foldTags(tags: readonly string[]): string {
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

export function foldBase64(text: string): string {
  let folded = ''
  for (let from = 0; from < text.length; from += LINE - 1) folded += `\r\n ${text.slice(from, from + LINE - 1)}`
  return folded
}
