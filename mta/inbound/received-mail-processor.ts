/**
 * Processes received mail: a claim, parsing in a thread, and one transaction that stores what was found and raises
 * `email.received`. If a process dies in between, the claim expires and the mail is processed again; the guarded UPDATE
 * makes sure that there is one event, and one message of a route that forwards. A mail that kills the parser, or
 * processes, is `unreadable`: its event has no parts, but a link to the source.
 */
import { loadPlans, type Plans } from '#config/plans.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { fileLink } from '#src/inbound-mail/file-links.ts'
import { storedContentOf, UNREADABLE } from '#src/inbound-mail/stored-content.ts'
import { scheduleAccepted } from '#src/messages/accept.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { timeOf } from '#src/platform/id.ts'
import { publishNotifications, type CommitNotifications } from '#src/queue/notifications.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { createParserThread, type ParserThread } from '#src/platform/parser-thread.ts'
import { forwardMails } from './forwarded-mail.ts'
import type { ParsedEmail } from './received-mail-parser.ts'
import { type ClaimedMail, claimReceivedMail } from './received-mail-store.ts'
import type { MailToParse, ThreadData } from './received-mail-thread.ts'

export type ReceivedMailParser = ParserThread<ParsedEmail, MailToParse> & { readonly plans: Plans }

const THREAD = new URL('./received-mail-thread.ts', import.meta.url)
/** Includes the DNS queries of all signatures. */
const PARSE_TIMEOUT_MS = 30_000
/** Texts are a few times as large in memory as on the wire. */
const MEMORY_MB = 384
const BATCH_SIZE = 32
/** Limit for a mail that crashes processes. */
const MAX_TRIES = 3
const DAY_MS = 24 * 3600 * 1000

export function createReceivedMailParser(config: Context['config']): ReceivedMailParser {
  const { dnsServers, serverName, spamFilter, spamFilterSeconds } = config
  const workerData: ThreadData = { dnsServers, serverName, spamFilter, spamFilterMs: spamFilterSeconds * 1000 }
  const parser: ParserThread<ParsedEmail, MailToParse> = createParserThread({
    timeoutMs: PARSE_TIMEOUT_MS,
    file: THREAD,
    workerData,
    memoryMb: MEMORY_MB,
  })
  return { ...parser, plans: loadPlans(config.plansFile) }
}

/** Processes one batch. Returns true if more may be due. */
export async function processReceivedMail(
  ctx: Context,
  parser: ReceivedMailParser,
  registry: MetricRegistry,
): Promise<boolean> {
  const claimed = await claimReceivedMail(ctx.db, new Date(ctx.clock.now()), BATCH_SIZE)
  if (claimed.length === 0) return false
  const readable = claimed.filter(({ tries }) => tries <= MAX_TRIES)
  const parsed = await parser.parse(
    readable.map(({ raw, mailFrom, peer, helo, recipient }) => ({ raw, mailFrom, peer, helo, recipient })),
  )
  const found = new Map(readable.map(({ id }, i) => [id, parsed[i] ?? null]))
  const mails = claimed.map((mail) => processedOf(ctx, mail, found.get(mail.id) ?? null))
  const now = new Date(ctx.clock.now())
  const { stored, news, forwarded } = await ctx.db.transaction(async (tx) => {
    const processed = await storeProcessed(tx, mails, now)
    const changed = mails.filter(({ mail }) => processed.stored.has(mail.id))
    return {
      ...processed,
      forwarded: await forwardMails(tx, changed, { config: ctx.config, plans: parser.plans, now }),
    }
  })
  publishNotifications(ctx, news)
  if (forwarded.submissions.length > 0) scheduleAccepted(ctx, forwarded.submissions, forwarded.stored)
  for (const { mail, parsed: one } of mails.filter(({ mail: { id } }) => stored.has(id))) {
    const result = one === null ? 'unreadable' : one.content.spam.verdict
    registry.add('mailstead_received_emails_total', [mail.action, result])
    ctx.log.info({ received: mail.id, peer: mail.peer, size: mail.raw.length, result }, 'received email processed')
  }
  return true
}

interface ProcessedMail {
  readonly mail: ClaimedMail
  readonly parsed: ParsedEmail | null
  readonly content: object
}

/** The content with links to its files, which expire with the mail. */
function processedOf(ctx: Context, mail: ClaimedMail, parsed: ParsedEmail | null): ProcessedMail {
  const receivedAt = new Date(timeOf(mail.id))
  const expiresAt = new Date(receivedAt.getTime() + ctx.config.inboundRetentionDays * DAY_MS)
  const linkTo = (n: number): string =>
    fileLink(ctx.config.publicUrl, ctx.encryption, { emailId: mail.id, n, expiresAt })
  const content = storedContentOf({
    mail: { ...mail, size: mail.raw.length, receivedAt },
    parsed: parsed?.content ?? UNREADABLE,
    isUnreadable: parsed === null,
    linkTo,
    expiresAt,
  })
  return { mail, parsed, content }
}

const UPDATE = sql`
  UPDATE received_emails r
  SET state = i.state, due_at = NULL, from_address = i.from_address, subject = i.subject, spam_verdict = i.verdict,
    content = i.content::jsonb
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS i (
    id, state, from_address, subject, verdict, content
  )
  WHERE r.id = i.id AND r.state = 'received'
  RETURNING r.id
`
const INSERT_ATTACHMENTS = sql`
  INSERT INTO received_attachments (email_id, n, filename, content_type, content)
  SELECT *
  FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bytea[])
`

async function storeProcessed(
  tx: Queryable,
  mails: readonly ProcessedMail[],
  now: Date,
): Promise<{ readonly stored: ReadonlySet<string>; readonly news: CommitNotifications }> {
  const { rows } = await tx.query<{ id: string }>(
    UPDATE,
    columnsOf(mails, [
      ({ mail }) => mail.id,
      ({ parsed }) => (parsed === null ? 'unreadable' : 'processed'),
      ({ parsed }) => (parsed?.content.from?.address ?? '').toLowerCase(),
      ({ parsed }) => parsed?.content.subject ?? null,
      ({ parsed }) => parsed?.content.spam.verdict ?? null,
      ({ content }) => JSON.stringify(content),
    ]),
  )
  const stored = new Set(rows.map(({ id }) => id))
  const changed = mails.filter(({ mail }) => stored.has(mail.id))
  const files = changed.flatMap(({ mail, parsed }) =>
    (parsed?.attachments ?? []).map((file, i) => ({ ...file, emailId: mail.id, n: i + 1 })),
  )
  if (files.length > 0)
    await tx.query(
      INSERT_ATTACHMENTS,
      columnsOf(files, [
        (f) => f.emailId,
        (f) => f.n,
        (f) => f.filename,
        (f) => f.contentType,
        ({ content: { buffer, byteOffset, byteLength } }) => Buffer.from(buffer, byteOffset, byteLength),
      ]),
    )
  const events = changed
    .filter(({ mail }) => mail.action === 'webhook')
    .map(({ mail: { id, workspaceId, routeId, recipient } }) => ({
      workspaceId,
      type: 'email.received' as const,
      recipient,
      data: { received_email_id: id, route_id: routeId },
    }))
  return { stored, news: await raiseEvents(tx, events, now) }
}
