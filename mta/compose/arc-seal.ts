/**
 * Seals a forwarded message with ARC (RFC 8617): one set of ARC-Authentication-Results, ARC-Message-Signature and
 * ARC-Seal above the header. Nothing else changes, so DKIM signatures of the author stay valid. The message signature
 * is DKIM's with another name; the seal covers all sets of the chain. Without an RSA key, or if the chain cannot be
 * continued, the message is returned as it is.
 */
import type { ArcChain } from '#src/mail/arc-chain.ts'
import type { Composed } from '#src/mime/draft.ts'
import { makeField } from '#src/mime/field.ts'
import { canonicalField, digestOf, type DkimDigest } from './digest.ts'
import { assemble, type DkimKey, foldBase64, foldTags, keyTags, signData } from './sign.ts'

/** 4.1.2: signatures of the author are covered; fields of ARC and Authentication-Results are not. */
const ALSO_SIGNED = ['dkim-signature']
const SET_NAMES = ['arc-authentication-results', 'arc-message-signature', 'arc-seal'] as const

export interface Sealing {
  readonly chain: ArcChain
  readonly at: Date
}

export async function seal(message: Composed, keys: readonly DkimKey[], { chain, at }: Sealing): Promise<Buffer> {
  // the operator's key is last; ARC has no Ed25519 in practice
  const key = keys.findLast(({ algorithm }) => algorithm === 'rsa-sha256')
  const { instance } = chain
  if (key === undefined || instance === null) return assemble('', message)
  const results = makeField('ARC-Authentication-Results', `i=${instance}; ${chain.server}; ${chain.results}`).line
  const digest = await digestOf(message, ALSO_SIGNED)
  const unsigned = writeMessageSignature(key, { digest, instance, at })
  const data = digest.canonical + canonicalField('arc-message-signature', unsigned)
  const signature = await finish(key, unsigned, data)
  const open = foldTags([
    'ARC-Seal: ',
    `i=${instance}; `,
    'a=rsa-sha256; ',
    `t=${secondsOf(at)}; `,
    `cv=${chain.validation}; `,
    `d=${key.domain}; `,
    `s=${key.selector}; `,
    'b=',
  ])
  const earlier = earlierSets(message, instance)
  const own = [results, signature].map((line, i) => canonicalField(SET_NAMES[i] ?? '', line))
  const sealData = [...earlier, ...own, canonicalField('arc-seal', open)].join('\r\n')
  return assemble((await finish(key, open, sealData)) + signature + results, message)
}

function secondsOf(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}

function writeMessageSignature(
  key: DkimKey,
  { digest, instance, at }: { readonly digest: DkimDigest; readonly instance: number; readonly at: Date },
): string {
  return foldTags(['ARC-Message-Signature: ', `i=${instance}; `, ...keyTags(key, digest, at)])
}

async function finish(key: DkimKey, unsigned: string, data: string): Promise<string> {
  const signature = await signData(key, Buffer.from(data, 'latin1'))
  return `${unsigned}${foldBase64(signature.toString('base64'))}\r\n`
}

/** 5.1.1: the canonical fields of the sets before this one, in the order of their instances. */
function earlierSets({ fields }: Pick<Composed, 'fields'>, instance: number): string[] {
  const canonical = new Map<string, string>()
  for (const { name, line } of fields) {
    const i = /:\s*i\s*=\s*(\d{1,2})\s*;/.exec(line)?.[1]
    if (i !== undefined) canonical.set(`${name} ${Number(i)}`, canonicalField(name, line))
  }
  return Array.from({ length: instance - 1 }, (_, i) => i + 1).flatMap((i) =>
    SET_NAMES.map((name) => canonical.get(`${name} ${i}`) ?? ''),
  )
}
