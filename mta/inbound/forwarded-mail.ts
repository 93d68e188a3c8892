/**
 * Forwards received mail: the transaction that stores what was found in a mail also stores the message that forwards
 * it, so a crash leaves both or neither, and no mail is forwarded twice. The message takes the ordinary path of
 * outgoing mail. Targets are checked again here. A message over the quota of the workspace is not stored.
 */
import type { Config } from '#config/load.ts'
import type { Plans } from '#config/plans.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { arcChainOf, buildForward, findForwardObstacle, type ForwardResult } from '#src/inbound-mail/forwarding.ts'
import { mayForwardTo } from '#src/inbound-mail/forward-targets.ts'
import { storeMessages, type StoredBatch } from '#src/messages/message-store.ts'
import { consumeQuota } from '#src/messages/quota.ts'
import type { Submission } from '#src/messages/submission.ts'
import { hexOf, newId, timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { ParsedEmail } from './received-mail-parser.ts'
import type { ClaimedMail } from './received-mail-store.ts'

export interface ForwardableMail {
  readonly mail: ClaimedMail
  readonly parsed: ParsedEmail | null
}

export interface ForwardDeps {
  readonly config: Pick<Config, 'serverName' | 'maxMessageBytes'>
  readonly plans: Plans
  readonly now: Date
}

/** What is to be scheduled after the commit. */
export interface ForwardedBatch {
  readonly submissions: readonly Submission[]
  readonly stored: StoredBatch
}

interface RouteTargets {
  readonly id: string
  readonly domainId: string
  readonly forwardsSpam: boolean
  readonly plan: string
  readonly targets: readonly string[]
}

/** `drop` stores nothing, and `store` forwards nothing. */
const MAY_FORWARD: ReadonlySet<string> = new Set(['forward', 'webhook'])
const NO_REFUSAL = { refused: new Set<Submission>() }
const NOTHING: ForwardedBatch = { submissions: [], stored: { hasDeliveries: false, suppressed: new Set() } }

const TARGETS = sql`
  SELECT r.id, r.domain_id AS "domainId", r.forwards_spam AS "forwardsSpam", w.plan,
    ARRAY(
      SELECT t.address
      FROM unnest(r.forward_to) AS t (address)
      WHERE ${mayForwardTo('r.workspace_id', 't.address')}
    ) AS targets
  FROM inbound_routes r
  JOIN domains d ON d.id = r.domain_id
  JOIN workspaces w ON w.id = r.workspace_id
  WHERE r.id = ANY ($1::uuid[]) AND r.forward_to <> '{}' AND d.verification_status IN ('verified', 'degraded')
`
const RECORD = sql`
  UPDATE received_emails r
  SET forward_result = i.result, forward_message_id = i.message_id
  FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS i (id, result, message_id)
  WHERE r.id = i.id
`

/** Part of the transaction that stores these mails as processed. */
export async function forwardMails(
  tx: Queryable,
  mails: readonly ForwardableMail[],
  deps: ForwardDeps,
): Promise<ForwardedBatch> {
  const candidates = mails.filter(({ mail }) => MAY_FORWARD.has(mail.action))
  if (candidates.length === 0) return NOTHING
  const { rows } = await tx.query<RouteTargets>(TARGETS, [[...new Set(candidates.map(({ mail }) => mail.routeId))]])
  const routes = new Map(rows.map((row) => [row.id, row]))
  const planned = candidates.flatMap((one) => {
    const route = routes.get(one.mail.routeId)
    return route === undefined ? [] : [planForward(one, route, deps)]
  })
  const submissions = planned.flatMap(({ submission }) => submission ?? [])
  const { refused } = submissions.length === 0 ? NO_REFUSAL : await consumeQuota(tx, submissions, deps.now)
  const isRefused = (one: Submission | null): boolean => one !== null && refused.has(one)
  const accepted = submissions.filter((one) => !refused.has(one))
  const stored = accepted.length === 0 ? NOTHING.stored : await storeMessages(tx, accepted)
  if (planned.length > 0)
    await tx.query(
      RECORD,
      columnsOf(planned, [
        (p) => p.id,
        (p) => (isRefused(p.submission) ? 'over-quota' : p.result),
        (p) => (isRefused(p.submission) ? null : (p.submission?.id ?? null)),
      ]),
    )
  return { submissions: accepted, stored }
}

interface PlannedForward {
  readonly id: string
  readonly result: ForwardResult
  readonly submission: Submission | null
}

/** As src/submission/message-octets.ts: base64, line ends and header. */
const maxOctetsOf = ({ maxMessageBytes }: ForwardDeps['config']): number => Math.ceil(maxMessageBytes * 1.4)

function planForward({ mail, parsed }: ForwardableMail, route: RouteTargets, deps: ForwardDeps): PlannedForward {
  const { id } = mail
  const content = parsed?.content ?? null
  const limits = { forwardsSpam: route.forwardsSpam, maxOctets: maxOctetsOf(deps.config) }
  const obstacle = findForwardObstacle({ routeId: route.id, raw: mail.raw, content }, limits)
  if (obstacle !== null || content === null) return { id, result: obstacle ?? 'unreadable', submission: null }
  if (route.targets.length === 0) return { id, result: 'no-target', submission: null }
  return { id, result: 'forwarded', submission: submissionOf(mail, content, route, deps) }
}

function submissionOf(
  mail: ClaimedMail,
  { from, subject, authentication }: ParsedEmail['content'],
  { id: routeId, domainId, targets, plan }: RouteTargets,
  { config: { serverName }, plans, now }: ForwardDeps,
): Submission {
  const id = newId(now.getTime())
  const { raw, mailFrom, helo, peer, isTls } = mail
  const trace = { id: hexOf(id), routeId, helo, peer, isTls, serverName, receivedAt: new Date(timeOf(mail.id)) }
  const arc = arcChainOf({ raw, mailFrom, authentication, serverName })
  return {
    id,
    workspaceId: mail.workspaceId,
    apiKeyId: null,
    domainId,
    tier: 'high',
    from: { email: from?.address ?? mail.recipient, name: from?.name ?? null },
    replyTo: null,
    to: targets.map((email) => ({ email, name: null })),
    cc: [],
    recipients: targets.map((address) => ({
      address,
      domain: address.slice(address.lastIndexOf('@') + 1).toLowerCase(),
      kind: 'to',
    })),
    subject: subject ?? '',
    html: null,
    text: null,
    headers: [],
    attachments: [],
    smtp: { raw: buildForward(raw, trace), envelope: { from: mailFrom, forward: { receivedId: mail.id, arc } } },
    // only owners and admins read received mail
    isConfidential: true,
    tags: ['forward'],
    metadata: null,
    trackOpens: false,
    trackClicks: false,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: now,
    quota: (plans[plan] ?? plans['free'])?.monthlyQuota ?? null,
    idempotency: null,
  }
}
