/**
 * Finds the recipient of a complaint (RFC 5965) that quotes no token of ours, by the Message-ID of the returned
 * message. A Message-ID has no MAC, and others may know it, so the report must be authentic: DKIM or SPF passes for the
 * domain of the recipient, of its MX host, or of COMPLAINT_SENDERS. Only a message with one recipient is found, because
 * a Message-ID does not say which recipient complained. If DNS fails, the report stays unmatched.
 */
import type { Context } from '#src/context.ts'
import { openResolver } from '#src/net/dns-resolver.ts'
import { idOfHex } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { Authentication } from '#src/inbound-mail/received-content.ts'
import type { IncomingMail } from './listener.ts'
import type { ReceivedReport } from './report-store.ts'

/** Our Message-ID: the id of the message in hex. Quoted-printable may write `=` as `=3D`, but there is none in it. */
const MESSAGE_ID = /\bmessage-id:\s*<([0-9a-f]{12}7[0-9a-f]{19})@/gi
const IS_FEEDBACK_REPORT = /^content-type:\s*message\/feedback-report/im
const MAX_IDS = 3
const DNS_LIMITS = { timeout: 2000, tries: 2 }

const FIND = sql`
  SELECT r.message_id AS "messageId", r.n, r.domain,
    (
      SELECT a.host
      FROM attempts a
      WHERE a.message_id = r.message_id AND a.n = r.n
      ORDER BY a.attempt DESC
      LIMIT 1
    ) AS host
  FROM recipients r
  WHERE r.message_id = ANY ($1::uuid[]) AND r.is_only
  LIMIT 2
`

interface FoundRecipient {
  readonly messageId: string
  readonly n: number
  readonly domain: string
  readonly host: string | null
}

export type ComplaintMatcher = (incoming: IncomingMail) => Promise<ReceivedReport['recipient']>

export function createComplaintMatcher({ db, config }: Pick<Context, 'db' | 'config'>): ComplaintMatcher {
  const resolve = (name: string, type: string): Promise<unknown> =>
    openResolver({ servers: config.dnsServers, ...DNS_LIMITS }).resolve(name, type)
  return async ({ raw, mailFrom, peer, helo }) => {
    const ids = findMessageIds(raw)
    const [found, ...others] = ids.length === 0 ? [] : (await db.query<FoundRecipient>(FIND, [ids.map(idOfHex)])).rows
    if (found === undefined || others.length > 0) return null
    // loaded here because mailauth is large, and complaints without a token are rare
    const { authenticateMail } = await import('./mail-authentication.ts')
    const results = await authenticateMail({ raw, mailFrom, peer, helo }, { serverName: config.serverName, resolve })
    const accepted = [...config.complaintSenders, found.domain, receiverOf(found.host, found.domain)]
    return isFromOneOf(results, accepted) ? { messageId: found.messageId, n: found.n } : null
  }
}

/** The Message-IDs of ours that a feedback report quotes. */
export function findMessageIds(raw: Buffer): string[] {
  const text = raw.toString('latin1')
  if (!IS_FEEDBACK_REPORT.test(text)) return []
  const ids = [...text.matchAll(MESSAGE_ID)].map(([, hex = '']) => hex.toLowerCase())
  return [...new Set(ids)].slice(0, MAX_IDS)
}

/** Whether a domain that DKIM or SPF authenticates is one of these, or below one. */
export function isFromOneOf({ spf, dkim }: Pick<Authentication, 'spf' | 'dkim'>, domains: readonly string[]): boolean {
  const authentic = [spf, ...dkim].flatMap(({ result, domain }) =>
    result === 'pass' && domain !== null ? [domain.toLowerCase()] : [],
  )
  return authentic.some((one) => domains.some((domain) => one === domain || one.endsWith(`.${domain}`)))
}
