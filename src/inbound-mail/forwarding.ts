/**
 * Whether a received email may be forwarded, and the message that is sent. Its octets stay as they arrived, below a
 * Received field and the field that detects loops, so that DKIM signatures of its author stay valid. The outbound role
 * adds the ARC set and the envelope sender, which is ours: bounces of the forward come back here. A bounce is forwarded
 * with the null sender, so nothing answers it (RFC 5321 4.5.5). Pure.
 */
import { isIPv6 } from 'node:net'
import type { ArcChain } from '#src/mail/arc-chain.ts'
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import type { Authentication, ReceivedContent } from './received-content.ts'

/** What became of a mail that its route forwards, one sentence each. */
export const FORWARD_RESULTS = {
  forwarded: 'it became a message, whose state says whether it was delivered',
  spam: 'its verdict is spam, and the route forwards no spam',
  loop: 'this route forwarded it before, or it passed too many servers',
  malformed: 'it has line ends or octets that servers read in different ways',
  unreadable: 'it could not be parsed',
  'too-large': 'it is larger than MAX_MESSAGE_BYTES permits',
  'no-target': 'none of the addresses may be forwarded to: they are not confirmed, or not permitted any more',
  'over-quota': 'the workspace has used its monthly quota',
} as const
export type ForwardResult = keyof typeof FORWARD_RESULTS

export interface ForwardedEmail {
  readonly routeId: string
  readonly raw: Buffer
  /** Null: it could not be parsed. */
  readonly content: Pick<ReceivedContent, 'spam' | 'authentication'> | null
}

export interface ForwardLimits {
  readonly forwardsSpam: boolean
  readonly maxOctets: number
}

/** The own field by which a loop is found: the id of the route. */
const ROUTE_FIELD = 'X-Mailstead-Route'
/** RFC 5321 6.3 wants servers to accept at least 100; a mail with so many is not forwarded further. */
const MAX_HOPS = 50
const MAX_FIELDS = 1000
/** RFC 8617 4.2.1 */
const MAX_INSTANCE = 50

/** Why the mail must not be forwarded; null: it may be. */
export function findForwardObstacle(
  { routeId, raw, content }: ForwardedEmail,
  { forwardsSpam, maxOctets }: ForwardLimits,
): ForwardResult | null {
  if (content === null) return 'unreadable'
  if (raw.length > maxOctets) return 'too-large'
  if (content.spam.verdict === 'spam' && !forwardsSpam) return 'spam'
  const { fields } = splitMessage(raw)
  if (isMalformed(raw) || fields.length > MAX_FIELDS) return 'malformed'
  const hops = fields.filter(({ name }) => name === 'received').length
  const isRepeated = fields.some(({ name, line }) => name === ROUTE_FIELD.toLowerCase() && line.includes(routeId))
  return isRepeated || hops > MAX_HOPS ? 'loop' : null
}

const [CR, LF] = [13, 10]

/**
 * CR or LF outside of CRLF could end the message at another place for the next server, and a first line that begins
 * with white space would become part of our field.
 */
function isMalformed(raw: Buffer): boolean {
  if (raw.length === 0 || raw.includes(0) || raw[0] === 0x20 || raw[0] === 0x09) return true
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) if (raw[at - 1] !== CR) return true
  for (let at = raw.indexOf(CR); at >= 0; at = raw.indexOf(CR, at + 1)) if (raw[at + 1] !== LF) return true
  return false
}

export interface ForwardTrace {
  readonly id: string
  readonly routeId: string
  readonly helo: string
  readonly peer: string
  readonly isTls: boolean
  readonly serverName: string
  readonly receivedAt: Date
}

/** The message as it is stored for sending: two fields above the mail. */
export function buildForward(raw: Buffer, trace: ForwardTrace): Buffer {
  const helo = trace.helo.replaceAll(/[^!-'*-~]/g, '?').slice(0, 255)
  const address = isIPv6(trace.peer) ? `IPv6:${trace.peer}` : trace.peer
  const date = trace.receivedAt.toUTCString().replace('GMT', '+0000')
  const received =
    `Received: from ${helo} ([${address}])\r\n\tby ${trace.serverName} with ESMTP${trace.isTls ? 'S' : ''} ` +
    `id ${trace.id};\r\n\t${date}\r\n`
  return Buffer.concat([Buffer.from(`${received}${ROUTE_FIELD}: ${trace.routeId}\r\n`, 'latin1'), raw])
}

export interface CheckedEmail {
  readonly raw: Buffer
  readonly mailFrom: string
  readonly authentication: Authentication
  readonly serverName: string
}

/** The ARC chain of a mail as its next set continues it. A chain that fails, or lacks a set, is not continued. */
export function arcChainOf({ raw, mailFrom, authentication, serverName }: CheckedEmail): ArcChain {
  const last = countSets(splitMessage(raw).fields)
  const { result } = authentication.arc
  const isIntact = last === 0 ? result === 'none' : result === 'pass'
  return {
    instance: isIntact && last < MAX_INSTANCE ? last + 1 : null,
    validation: result === 'pass' ? 'pass' : 'none',
    results: resultsOf(authentication, mailFrom),
    server: serverName,
  }
}

/** The highest instance of the fields of ARC. */
function countSets(fields: readonly HeaderField[]): number {
  const instances = fields
    .filter(({ name }) => name.startsWith('arc-'))
    .map(({ line }) => Number(/:\s*i\s*=\s*(\d{1,3})\s*;/.exec(line)?.[1] ?? MAX_INSTANCE))
  return Math.max(0, ...instances)
}

/** RFC 8601 2.2. Values come from the sender: only characters of names and numbers remain. */
function resultsOf({ spf, dkim, dmarc, arc }: Authentication, mailFrom: string): string {
  const clean = (text: string | null): string => (text ?? '').replaceAll(/[^\w.+-]/g, '?').slice(0, 255)
  const property = (name: string, value: string | null): string => (value === null ? '' : ` ${name}=${clean(value)}`)
  const sender = mailFrom === '' ? null : mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
  return [
    `spf=${clean(spf.result)}${property('smtp.mailfrom', sender)}`,
    ...(dkim.length === 0 ? ['dkim=none'] : []),
    ...dkim.map(
      (one) => `dkim=${clean(one.result)}${property('header.d', one.domain)}${property('header.s', one.selector)}`,
    ),
    `dmarc=${clean(dmarc.result)}${property('header.from', dmarc.domain)}`,
    ...(arc.result === 'none' ? [] : [`arc=${clean(arc.result)}`]),
  ].join('; ')
}
