/**
 * Straight to the receiver's servers: an open session of the site when there is one, else the hosts in order, then one transaction.
 * Answers what happened as an Attempt and never throws for what a server or network does.
 *
 * A host that cannot be reached, or refuses at its greeting, is followed by the next; an answer to the message itself is final for this attempt.
 * An idle session that turns out dead before anything was said costs nothing: once more on a new one. After the final dot there is no second
 * try here, whatever happens: the outcome is unknown, and what follows is decided by the tier.
 */
import type { Pace } from '#mta/shaping/throttle.ts'
import { isEnough, nameFor } from '#mta/security/policy.ts'
import type { Mail } from '#mta/smtp/envelope.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { Breaker } from './breaker.ts'
import { createErrands, hasEnded, newErrand, outcomeOf, transact, type Errand } from './in-flight.ts'
import { openFirst, type Destination, type NotOpened, type OpeningParts } from './connect.ts'
import { createRooms, type NewRoom, type Room } from './connection-slots.ts'
import { createSessionPool, pathOf, protectionOf, type Pooled, type SessionPool } from './session-pool.ts'

export interface Job extends Omit<Destination, 'mayUse'> {
  readonly site: string
  /** Says how many connections may be open by the first of the ways, with all sites that share it. */
  readonly pace: Pace
  /** That of another way, should it be needed. */
  readonly paceBy: (source: string | null) => Pace
  readonly mail: Mail
}

export interface Direct {
  /** Null when `abort` cut it short and the receiver cannot have the message: nothing came of it. */
  deliver(job: Job): Promise<Attempt | null>
  /** Cuts short what is under way: what the receiver may have ends as unknown, the rest at once and as if it had not begun. */
  abort(): void
  /** Ends all connections from an address that left this machine: nothing would ever be heard on them. */
  cutFrom(address: string): void
  /** Ends the sessions that are idle. */
  close(): Promise<void>
}

export interface DirectParts extends OpeningParts {
  readonly breaker: Breaker
  readonly now: () => number
}

export function createDirect(parts: DirectParts): Direct {
  const pool = createSessionPool()
  const rooms = createRooms(pool)
  const errands = createErrands()
  const means: DirectParts = { ...parts, settings: { ...parts.settings, watch: (socket) => errands.watch(socket) } }
  return {
    deliver: async (job) => {
      if (errands.isAborted) return null
      const startedAt = parts.now()
      const began = performance.now()
      const take = (): Pooled | null => takeOpen(pool, job)
      const errand: DirectErrand = {
        ...newErrand(job.mail),
        job,
        makeRoom: () => rooms.make(placeBy(job, sourceOf(job)), take, (path) => parts.breaker.room(path)),
        tryRoom: (by) => rooms.tryMake(placeBy(job, by)),
      }
      const done = await errands.carry(errand, carryOut(means, errand))
      if (done === null) return null
      const { outcome, pooled, source } = done
      if (pooled !== null) rooms.putBack(job.site, pooled)
      return {
        outcome,
        startedAt,
        durationMs: performance.now() - began,
        conversation: errand.lines.join('\n'),
        source,
        host: (pooled ?? done.at)?.host ?? null,
        address: (pooled ?? done.at)?.address ?? null,
        tls: pooled === null ? null : describeTls(job, pooled),
      }
    },
    abort: () => errands.abort(),
    cutFrom: (address) => errands.cutFrom(address),
    close: () => pool.close(),
  }
}

interface DirectErrand extends Errand {
  readonly job: Job
  /** Waits until an open connection is there or one may be opened; null when neither will be. */
  readonly makeRoom: () => Promise<Room | null>
  /** Room for a connection by another source than the message's own, if it is to be had now. */
  readonly tryRoom: (source: string | null) => NewRoom | null
}

interface Done {
  readonly outcome: Outcome
  readonly pooled: Pooled | null
  readonly source: string | null
  /** The server that gave no session. */
  readonly at?: NotOpened['at']
}

function takeOpen(pool: SessionPool, { site, ways, tls }: Job): Pooled | null {
  for (const { source } of ways) {
    const open = pool.take(site, source, (pooled) => isEnough(tls, protectionOf(pooled)))
    if (open !== null) return open
  }
  return null
}

/** The source that it waited its turn for. */
function sourceOf({ ways }: Job): string | null {
  return ways[0]?.source ?? null
}

function placeBy(job: Job, source: string | null): { site: string; source: string | null; pace: Pace } {
  return { site: job.site, source, pace: source === sourceOf(job) ? job.pace : job.paceBy(source) }
}

/**
 * Null when the pace lets nothing begin any more. An open session may have ended while it was idle, or end at this message, having carried
 * its share: then the next one, or a new one, which has the last word.
 */
async function carryOut(parts: DirectParts, errand: DirectErrand): Promise<Done | null> {
  for (;;) {
    const room = await errand.makeRoom()
    if (room === null) return null
    if (room.kind === 'new') return connectIn(parts, errand, room)
    const { pooled } = room
    const result = await transactOn(pooled, errand)
    if (errand.isCut || !hasEnded(pooled.session, result)) return doneOn(pooled, errand, result)
    errand.lines.push('-- the open session had ended; trying another')
  }
}

/** What is sent by another source than it waited for is counted as that one's. */
function doneOn(pooled: Pooled, errand: DirectErrand, result: TransactionResult): Done {
  const { job } = errand
  if (pooled.source !== sourceOf(job)) {
    job.pace.spend(-1)
    job.paceBy(pooled.source).spend(1)
  }
  return { outcome: outcomeOf(result, errand), pooled, source: pooled.source }
}

async function connectIn(parts: DirectParts, errand: DirectErrand, room: NewRoom): Promise<Done> {
  const { job, lines } = errand
  const path = pathOf(job.site, sourceOf(job))
  const refusal = parts.breaker.refuse(path)
  if (refusal !== null) {
    room.giveBack()
    lines.push(`-- ${refusal}`)
    return { outcome: unreachable({ reason: 'unreachable', detail: refusal }), pooled: null, source: null }
  }
  const opened = await openWithin(parts, errand, room)
  if (!('session' in opened)) {
    if (opened.isByPolicy === true || opened.isOurs === true) parts.breaker.released(path)
    else parts.breaker.failed(path, opened.detail)
    const outcome = opened.isCertain === true ? unroutable(opened) : unreachable(opened)
    return { outcome, pooled: null, source: opened.source ?? null, at: opened.at }
  }
  parts.breaker.succeeded(path)
  lines.push(...opened.session.opening)
  return doneOn(opened, errand, await transactOn(opened, errand))
}

/** A connection by another way than the first needs room of its own, and leaves that of the first. */
async function openWithin(
  parts: DirectParts,
  { job, lines, tryRoom }: DirectErrand,
  room: NewRoom,
): Promise<Pooled | NotOpened> {
  const others = new Map<string | null, NewRoom>()
  const mayUse = (source: string | null): boolean => {
    const other = others.get(source) ?? tryRoom(source)
    if (other !== null) others.set(source, other)
    return other !== null
  }
  const opened = await openFirst(parts, { ...job, mayUse }, lines)
  const used = 'session' in opened ? (others.get(opened.source) ?? room) : null
  if ('session' in opened) used?.fill(opened)
  for (const one of [room, ...others.values()]) if (one !== used) one.close()
  return opened
}

function transactOn({ session, host, address }: Pooled, errand: Errand): Promise<TransactionResult> {
  if (session.delivered > 0)
    errand.lines.push(
      `-- on an open session to ${host} [${address}], message ${session.delivered + 1}${tlsRemark(session)}`,
    )
  return transact(session, errand)
}

/** As the attempt's record has it; null is plain text. */
function describeTls({ tls: policy }: Job, pooled: Pooled): string | null {
  const {
    session: { tls },
    isVerified,
  } = pooled
  if (tls === null) return null
  return `${tls.protocol} ${tls.cipher}, ${nameFor(policy, protectionOf(pooled))}, certificate ${isVerified ? '' : 'not '}verified`
}

function tlsRemark(session: Session): string {
  return session.tls === null ? ', not encrypted' : `, ${session.tls.protocol} ${session.tls.cipher}`
}

/** Nothing was said about the message: not one of its tries. */
function unreachable({ reason, detail, reply, isOurs }: NotOpened): Outcome {
  return {
    kind: 'deferred',
    scope: isOurs === true ? 'source' : 'host',
    reason,
    detail,
    reply: reply ?? null,
    isCounted: false,
  }
}

/** RFC 3463 X.4.4. Soft: the address may be good, its domain's DNS is not. */
function unroutable({ detail }: NotOpened): Outcome {
  const reply = composeReply(550, '5.4.4', detail)
  return { kind: 'bounced', scope: 'destination', reason: 'no-host', isHard: false, detail: formatReply(reply), reply }
}
