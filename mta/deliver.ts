/**
 * One delivery, from a claimed recipient to the result of its attempt: route → compose → sign → transport. A list of steps; each stage is elsewhere
 * and they do not know each other. The result is settled by the caller. Nothing here throws for what a message, a server or DNS does: a step that ends the delivery answers an outcome.
 *
 * Dies before the transport: the lease brings the recipient back, uncounted. Dies in the conversation: the same. Dies after the receiver's 250
 * and before the commit of `settle`: the recipient is sent again, the one window in which that happens.
 */
import type { Route } from '#mta/route/route.ts'
import { UNGUARDED } from '#mta/security/policy.ts'
import type { Job } from '#mta/transport/direct.ts'
import type { AccountLetter } from '#mta/transport/relay.ts'
import { pathOf } from '#mta/transport/session-pool.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { accountAt } from '#src/providers/destination.ts'
import { lastMoment } from '#src/messages/settle.ts'
import { writeMail } from './letter.ts'
import type { Stages } from './stages.ts'
import type { Gate } from './waiting.ts'

/**
 * Carries a claimed recipient to the end of this attempt. What is made ready waits at the gate for a session of its site;
 * large content is loaded only behind the gate, and only so much of it at once. Null when the gate did not let it begin,
 * or the process stops and the receiver cannot have it: it is given back. So it is when nothing was in its way any more of what had made
 * it go without a source.
 */
export async function deliver(stages: Stages, claimed: Claimed, gate: Gate): Promise<Attempt | null> {
  const startedAt = stages.now()
  const ready = (): Promise<Prepared> => prepareSafely(stages, claimed, gate)
  const send = async (letter: Prepared): Promise<Attempt | null> => {
    if ('kind' in letter) return untried(letter, startedAt)
    if ('account' in letter) return stages.accounts.relay.deliver(letter)
    return letter.ways.length === 0 ? null : stages.transport.deliver(letter)
  }
  const over = overBefore(claimed, stages)
  if (over !== null) return untried(over, startedAt)
  if (claimed.content.isLarge)
    return withSession({ stages, gate, claimed }, () =>
      stages.memory.lend(claimed.content.size, async () => send(await ready())),
    )
  const letter = await ready()
  return 'kind' in letter ? send(letter) : withSession({ stages, gate, claimed }, () => send(letter))
}

const POLICY_WAIT_MS = 2000

interface Entering {
  readonly stages: Stages
  readonly gate: Gate
  readonly claimed: Claimed
}

async function withSession(
  { stages, gate, claimed }: Entering,
  work: () => Promise<Attempt | null>,
): Promise<Attempt | null> {
  const mayBegin = await gate.enter(claimed.tier)
  try {
    if (!mayBegin) return null
    const over = gate.isLate() ? await overMeanwhile(stages, claimed) : null
    return over === null ? await work() : untried(over, stages.now())
  } finally {
    gate.leave(claimed.tier)
  }
}

/** It waited long: its address may have come on the suppression list, its contact have left, or its time be over. */
async function overMeanwhile(stages: Stages, claimed: Claimed): Promise<Outcome | null> {
  const { workspaceId, recipe } = claimed
  try {
    const [suppression, contact] = await Promise.all([
      stages.suppression(claimed),
      recipe === null ? null : stages.contact({ workspaceId, ...recipe }),
    ])
    return overBefore({ ...claimed, suppression, contact }, stages)
  } catch (error) {
    return trouble(error)
  }
}

/** Ready to go straight to the receiver, or through an account; or what became of it before. */
type Prepared = Job | AccountLetter | Outcome

function prepareSafely(stages: Stages, claimed: Claimed, gate: Gate): Promise<Prepared> {
  return prepare(stages, claimed, gate).catch(trouble)
}

/** Everything that can be done without a session, or the outcome that makes one needless. */
async function prepare(stages: Stages, claimed: Claimed, { mayGo, passage }: Gate): Promise<Prepared> {
  const accountId = accountAt(claimed.domain)
  if (accountId !== null) return prepareForAccount(stages, claimed, { accountId, mayGo })
  const route = await stages.route(claimed.domain)
  if (route.kind !== 'hosts') return outcomeOfRoute(route)
  const why = stages.whyNot(pathOf(route.site, passage.source))
  if (why !== null)
    return { kind: 'deferred', scope: 'host', reason: 'unreachable', detail: why, reply: null, isCounted: false }
  const tls = claimed.submitted?.ignoresTls === true ? UNGUARDED : await stages.tlsPolicy(claimed.domain, route.hosts)
  if (tls.isPending) return waitForPolicy(claimed, stages)
  const sender = await stages.sendingDomain(claimed.domainId)
  if (sender.kind !== 'ready') return mayNotSend(sender.kind, claimed)
  const written = await writeMail(stages, claimed, sender.keys)
  if ('kind' in written) return written
  return {
    site: route.site,
    hosts: route.hosts,
    tls,
    ways: passage.ways,
    pace: passage.pace,
    paceBy: passage.paceBy,
    mail: { from: stages.returnPath(claimed, sender.mailFrom), to: claimed.address, ...written, mayGo },
  }
}

/** Its provider signs, and takes no other return-path than an address of the account: bounces come to the mailbox. */
async function prepareForAccount(
  stages: Stages,
  claimed: Claimed,
  { accountId, mayGo }: { accountId: string; mayGo: () => boolean },
): Promise<AccountLetter | Outcome> {
  const account = await stages.accounts.find(accountId)
  if (!('addresses' in account)) return account
  const written = await writeMail(stages, claimed, [])
  return 'kind' in written
    ? written
    : { account, mail: { from: claimed.content.from.email, to: claimed.address, ...written, mayGo } }
}

/** It gives up its place meanwhile: other domains may have the same hosts. */
function waitForPolicy({ domain }: Claimed, stages: Stages): Outcome {
  return {
    kind: 'held',
    reason: 'tls-policy',
    detail: `the MTA-STS policy of ${domain} is being fetched`,
    untilMs: stages.now() + POLICY_WAIT_MS,
  }
}

function mayNotSend(kind: 'gone' | 'not-verified', { content }: Claimed): Outcome {
  const what = kind === 'gone' ? 'was removed' : 'is not verified any more: its DKIM record is gone from DNS'
  return { kind: 'failed', reason: `domain-${kind}`, detail: `the sending domain of ${content.from.email} ${what}` }
}

/** Nothing is to be sent any more. */
export function isOver(claimed: Claimed, stages: Pick<Stages, 'now' | 'lifetimeSeconds'>): boolean {
  return overBefore(claimed, stages) !== null
}

function overBefore(claimed: Claimed, stages: Pick<Stages, 'now' | 'lifetimeSeconds'>): Outcome | null {
  return suppressed(claimed) ?? unwanted(claimed) ?? tooLate(claimed, stages)
}

function suppressed({ suppression }: Claimed): Outcome | null {
  if (suppression === null) return null
  const detail = `the address is on the suppression list: ${suppression.cause}`
  return { kind: 'suppressed', reason: 'suppressed', detail, cause: suppression.cause, causeKind: suppression.kind }
}

/** Whom the mail of a campaign or an automation is for has left the audience since, wants no mail at all, or was deleted. */
function unwanted({ recipe, contact }: Claimed): Outcome | null {
  if (recipe === null) return null
  if (contact === null) return { kind: 'failed', reason: 'contact-gone', detail: 'the contact was deleted' }
  if (contact.isSubscribed !== false) return null
  return {
    kind: 'suppressed',
    reason: 'suppressed',
    detail: 'it has unsubscribed since the mail was queued',
    cause: 'unsubscribed',
    causeKind: 'unsubscribe',
  }
}

function tooLate(claimed: Claimed, stages: Pick<Stages, 'now' | 'lifetimeSeconds'>): Outcome | null {
  if (stages.now() <= lastMoment(claimed, stages.lifetimeSeconds)) return null
  return {
    kind: 'failed',
    reason: 'too-old',
    detail: `its time was over at ${new Date(lastMoment(claimed, stages.lifetimeSeconds)).toISOString()}, before it could be sent`,
  }
}

function outcomeOfRoute(route: Exclude<Route, { kind: 'hosts' }>): Outcome {
  if (route.kind === 'unknown')
    return { kind: 'deferred', scope: 'destination', reason: 'dns', detail: route.text, reply: null, isCounted: false }
  const reply = composeReply(550, route.status, route.text)
  return {
    kind: 'bounced',
    scope: 'recipient',
    reason: route.reason,
    isHard: route.reason !== 'loop',
    detail: formatReply(reply),
    reply,
  }
}

/** Trouble of our own, such as a store that is away: not the message's fault, and over some time. */
function trouble(error: unknown): Outcome {
  return {
    kind: 'deferred',
    scope: 'source',
    reason: 'our-trouble',
    detail: `it could not be made ready: ${textOf(error)}`,
    reply: null,
    isCounted: false,
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** An attempt that never spoke to a server. */
function untried(outcome: Outcome, startedAt: number): Attempt {
  return {
    outcome,
    startedAt,
    durationMs: 0,
    host: null,
    address: null,
    source: null,
    tls: null,
    conversation: 'detail' in outcome ? `-- ${outcome.detail}` : '',
  }
}
