/**
 * Checks the gates that a message passes before delivery: sender, From, quota, suppression, suspension and receiver
 * limits. Each check reads the current state and reports it, even if an earlier gate is closed. Nothing is changed.
 */
import type { Plans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { DryRunRequest, DryRunStep } from '#src/operator/dry-runs.ts'
import { findSuspensions } from '#src/queue/suspensions.ts'
import { findReceiver } from '#src/shaping/rule-match.ts'
import { ANY_SOURCE, WILDCARD, fromText, throttleKeyOf } from '#src/shaping/throttle-key.ts'
import { listReceiverSuspensions } from '#src/shaping/receiver-suspensions.ts'
import { parsedShaping, shapingFileOf } from '#src/shaping/shaping-file-watch.ts'
import { sql } from '#src/stores/sql.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { SubmissionError } from '#src/submission/submission-error.ts'
import { parseSubmittedMessage } from '#src/submission/submitted-message.ts'
import { readUsage } from '#src/workspaces/usage.ts'
import type { Route } from '#mta/route/route.ts'
import { fail, ok, warn } from './steps.ts'
import { countText } from '#src/platform/plural.ts'

export interface DryRunSender {
  readonly workspaceId: string
  readonly domainId: string
}

interface SenderRow {
  readonly id: string
  readonly workspace_id: string
  readonly domain: string
  readonly status: 'pending' | 'verified' | 'failed' | 'degraded'
}

/** Finds the workspace that owns the domain of the sender's address. */
export async function findSender(
  { db }: Context,
  { from, workspaceId }: DryRunRequest,
): Promise<{ readonly step: DryRunStep; readonly sender: DryRunSender | null }> {
  const parsed = parseAddress(from)
  if (!parsed.ok)
    return {
      step: fail('sender', `${from} is not an address: ${parsed.reason}`, 'give the address of the sender'),
      sender: null,
    }
  const { domain } = parsed.address
  const {
    rows: [row],
  } = await db.query<SenderRow>(
    sql`
      SELECT id, workspace_id, domain, verification_status AS status
      FROM domains
      WHERE domain = $1 AND ($2::uuid IS NULL OR workspace_id = $2)
      ORDER BY verification_status IN ('verified', 'degraded') DESC, id
      LIMIT 1
    `,
    [domain, workspaceId],
  )
  if (row === undefined) {
    const account = await findAccount(db, parsed.address.address, workspaceId)
    if (account !== null) return { step: accountStep(from, account), sender: null }
    const subject = workspaceId === null ? 'no workspace has' : 'this workspace does not have'
    return {
      step: fail('sender', `${subject} the sending domain ${domain}`, `mailstead domain add --workspace ID ${domain}`),
      sender: null,
    }
  }
  const sender = { workspaceId: row.workspace_id, domainId: row.id }
  const says = `${domain} is a sending domain of the workspace ${row.workspace_id}, ${row.status}`
  if (row.status === 'verified') return { step: ok('sender', says), sender }
  if (row.status === 'degraded')
    return { step: warn('sender', says, 'its DNS records are missing: the domain will soon stop sending'), sender }
  return { step: fail('sender', says, `publish its DNS records, then run mailstead domain verify ${domain}`), sender }
}

/** Validates the From of a raw message as submission does. Returns null if it is valid or no raw message is given. */
export function checkFrom({ from, raw }: DryRunRequest): DryRunStep | null {
  if (raw === null) return null
  const todo = `use an address of ${domainOf(from)} in From`
  try {
    const { authors } = parseSubmittedMessage(Buffer.from(raw.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1'))
    const other = authors.map(({ email }) => domainOf(email)).find((domain) => domain !== domainOf(from))
    return other === undefined
      ? null
      : fail('From', `From is in ${other}: submission rejects it from a sender of ${domainOf(from)}`, todo)
  } catch (error) {
    if (error instanceof SubmissionError) return fail('From', `submission rejects it: ${error.message}`, todo)
    throw error
  }
}

/** Returns the domain in its DNS form. */
function domainOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed.ok ? parsed.address.domain : address
}

interface AccountRow {
  readonly id: string
  readonly workspace_id: string
  readonly host: string
  readonly state: 'active' | 'paused'
}

async function findAccount(db: Queryable, address: string, workspaceId: string | null): Promise<AccountRow | null> {
  const {
    rows: [row],
  } = await db.query<AccountRow>(
    sql`
      SELECT id, workspace_id, host, state
      FROM connected_accounts
      WHERE lower($1) = ANY (addresses) AND ($2::uuid IS NULL OR workspace_id = $2)
      ORDER BY state, id
      LIMIT 1
    `,
    [address, workspaceId],
  )
  return row ?? null
}

/** Mail of a connected account goes through its provider; `mailstead account test` checks the sign-in. */
function accountStep(from: string, { id, workspace_id: workspaceId, host, state }: AccountRow): DryRunStep {
  const says = `${from} is a connected account of the workspace ${workspaceId}, ${state}: its mail goes through ${host}`
  if (state === 'paused') return fail('sender', says, `correct the cause, then run mailstead account resume ${id}`)
  return warn('sender', `${says}, not to the receiver’s servers`, `run mailstead account test ${id} to check it`)
}

export async function checkQuota(
  { db, clock }: Context,
  plans: Plans,
  { workspaceId }: DryRunSender,
): Promise<DryRunStep> {
  const usage = await readUsage(db, workspaceId, new Date(clock.now()))
  if (usage === null) return fail('quota', 'the workspace no longer exists', 'choose another workspace')
  const {
    rows: [row],
  } = await db.query<{ plan: string }>('SELECT plan FROM workspaces WHERE id = $1', [workspaceId])
  const plan = row?.plan ?? 'free'
  const quota = plans[plan]?.monthlyQuota ?? null
  if (quota === null) return ok('quota', `plan ${plan}: no quota`)
  const says = `plan ${plan}: ${usage.used} of ${countText(quota, 'recipient')} of this month used`
  return usage.used < quota
    ? ok('quota', says)
    : fail('quota', says, 'no message is accepted until the month ends; choose a larger plan')
}

export async function checkSuppression(
  { db }: Context,
  { workspaceId }: DryRunSender,
  to: string,
): Promise<DryRunStep> {
  const [entry] = await findSuppressions(db, workspaceId, [to])
  if (entry === undefined) return ok('suppression', 'the recipient is not on the suppression list')
  const says =
    `the recipient is on the suppression list since ${entry.createdAt.toISOString()}: ` +
    `${entry.kind}, ${entry.cause}`
  return fail('suppression', says, 'remove it from the list if the cause no longer applies')
}

export async function checkSuspension(
  { db }: Context,
  messageId: string,
  { workspaceId }: DryRunSender,
  domain: string,
): Promise<DryRunStep> {
  const suspension = (await findSuspensions(db, { messageId, workspaceId, domains: [domain] }))(domain)
  if (suspension === null) return ok('suspension', 'no suspension applies')
  const end = suspension.until === null ? '' : ` until ${suspension.until.toISOString()}`
  return fail(
    'suspension',
    `the ${suspension.kind} ${suspension.subject} is suspended${end}: ${suspension.reason}`,
    `mailstead queue resume --${suspension.kind} ${suspension.subject}`,
  )
}

/** Reports the limits for the receiver and the suspensions that its replies caused. */
export async function checkLimits(
  { db, config, clock }: Context,
  { workspaceId }: DryRunSender,
  domain: string,
  route: Extract<Route, { kind: 'hosts' }>,
): Promise<DryRunStep> {
  const receiver = findReceiver(parsedShaping(shapingFileOf(config)), { domain, hosts: route.hosts })
  const throttleKey = throttleKeyOf(receiver, route.site)
  const suspensions = (await listReceiverSuspensions(db, new Date(clock.now()))).filter(
    (one) => (one.pace === throttleKey || one.pace === WILDCARD) && (one.workspaceId ?? workspaceId) === workspaceId,
  )
  const { title, connections, messagesPerConnection } = receiver
  const messages = countText(messagesPerConnection, 'message')
  const says = `${title}: ${countText(connections, 'connection')}, ${messages} on each`
  // a suspension of all mail matters more than one of a single source
  const suspension = suspensions.find(({ source }) => source === ANY_SOURCE || source === WILDCARD) ?? suspensions[0]
  if (suspension === undefined) return ok('limits', says)
  const { source, until, rule, reply } = suspension
  const step = source === ANY_SOURCE || source === WILDCARD ? fail : warn
  return step(
    'limits',
    `${says}; stopped${fromText(source)} until ${until.toISOString()} by the rule ${rule}, as it said: ${reply}`,
    `mailstead shaping resume ${throttleKey}`,
  )
}
