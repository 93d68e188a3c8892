/**
 * Straight to the receiver's servers: an open session of the site when there is one, else the hosts in order, then one transaction.
 * Answers what happened as an Attempt and never throws for what a server or network does.
 *
 * A host that cannot be reached, or refuses at its greeting, is followed by the next; an answer to the message itself is final for this attempt.
 * An idle session that turns out dead before anything was said costs nothing: once more on a new one. After the final dot there is no second
 * try here, whatever happens: the outcome is unknown, and what follows is decided by the tier.
 */
import type { Socket } from 'node:net'
import { classifyReply } from '#mta/classify/reply.ts'
import type { Pace } from '#mta/limits/pace.ts'
import { isEnough, nameFor } from '#mta/security/policy.ts'
import type { Mail } from '#mta/smtp/envelope.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { Breaker } from './breaker.ts'
import { openFirst, type Destination, type NotOpened, type OpeningParts } from './opening.ts'
import { createRooms, type NewRoom, type Room } from './rooms.ts'
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
  const underWay = new Set<Errand>()
  const sockets = new Set<Socket>()
  let isAborted = false
  const watch = (socket: Socket): void => {
    if (isAborted) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const means: DirectParts = { ...parts, settings: { ...parts.settings, watch } }
  return {
    deliver: async (job) => {
      if (isAborted) return null
      const startedAt = parts.now()
      const began = performance.now()
      const lines: string[] = []
      const cut = Promise.withResolvers<null>()
      const take = (): Pooled | null => takeOpen(pool, job)
      const errand: Errand = {
        job, lines, isInTransaction: false, isCut: false, cut,
        makeRoom: () => rooms.make(placeBy(job, sourceOf(job)), take, (path) => parts.breaker.room(path)),
        tryRoom: (by) => rooms.tryMake(placeBy(job, by)),
      }
      underWay.add(errand)
      const done = await Promise.race([carryOut(means, errand), cut.promise])
      underWay.delete(errand)
      if (done === null || (errand.isCut && done.outcome.kind === 'deferred')) return null
      const { outcome, pooled, source } = done
      if (pooled !== null) rooms.putBack(job.site, pooled)
      return {
        outcome, startedAt, durationMs: performance.now() - began, conversation: lines.join('\n'), source,
        host: (pooled ?? done.at)?.host ?? null, address: (pooled ?? done.at)?.address ?? null, tls: pooled === null ? null : describeTls(job, pooled),
      }
    },
    abort: () => {
      isAborted = true
      for (const errand of underWay) cutShort(errand)
      for (const socket of sockets) socket.destroy()
    },
    cutFrom: (address) => {
      for (const socket of sockets) if (socket.localAddress === address) socket.destroy()
    },
    close: () => pool.close(),
  }
}

interface Errand {
  readonly job: Job
  /** The conversation so far. */
  readonly lines: string[]
  /** Waits until an open connection is there or one may be opened; null when neither will be. */
  readonly makeRoom: () => Promise<Room | null>
  /** Room for a connection by another source than the message's own, if it is to be had now. */
  readonly tryRoom: (source: string | null) => NewRoom | null
  isInTransaction: boolean
  isCut: boolean
  readonly cut: PromiseWithResolvers<null>
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

/** A transaction ends with its connection and says how far it was; anything before it is not waited for. */
function cutShort(errand: Errand): void {
  errand.isCut = true
  if (!errand.isInTransaction) errand.cut.resolve(null)
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
async function carryOut(parts: DirectParts, errand: Errand): Promise<Done | null> {
  for (;;) {
    const room = await errand.makeRoom()
    if (room === null) return null
    if (room.kind === 'new') return connectIn(parts, errand, room)
    const { pooled } = room
    const result = await transactOn(pooled, errand)
    if (errand.isCut || !(isStale(result) || isFullUp(result, pooled.session))) return doneOn(pooled, errand, result)
    errand.lines.push('-- the open session had ended; trying another')
  }
}

/** What is sent by another source than it waited for is counted as that one's. */
function doneOn(pooled: Pooled, { job }: Errand, result: TransactionResult): Done {
  if (pooled.source !== sourceOf(job)) {
    job.pace.spend(-1)
    job.paceBy(pooled.source).spend(1)
  }
  return { outcome: outcomeOf(result), pooled, source: pooled.source }
}

async function connectIn(parts: DirectParts, errand: Errand, room: NewRoom): Promise<Done> {
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
async function openWithin(parts: DirectParts, { job, lines, tryRoom }: Errand, room: NewRoom): Promise<Pooled | NotOpened> {
  const others = new Map<string | null, NewRoom>()
  const mayUse = (source: string | null): boolean => {
    const other = others.get(source) ?? tryRoom(source)
    if (other !== null) others.set(source, other)
    return other !== null
  }
  const opened = await openFirst(parts, { ...job, mayUse }, lines)
  const used = 'session' in opened ? others.get(opened.source) ?? room : null
  if ('session' in opened) used?.fill(opened)
  for (const one of [room, ...others.values()]) if (one !== used) one.close()
  return opened
}

async function transactOn(pooled: Pooled, errand: Errand): Promise<TransactionResult> {
  const { job, lines } = errand
  if (pooled.session.delivered > 0) lines.push(`-- on an open session to ${pooled.host} [${pooled.address}], message ${pooled.session.delivered + 1}${tlsRemark(pooled.session)}`)
  errand.isInTransaction = true
  const result = await pooled.session.deliver(job.mail)
  errand.isInTransaction = false
  for (const line of result.conversation) lines.push(line)
  if (result.kind === 'lost') lines.push(`-- lost at ${result.stage}: ${result.detail}`)
  return result
}

/** As the attempt's record has it; null is plain text. */
function describeTls({ tls: policy }: Job, pooled: Pooled): string | null {
  const { session: { tls }, isVerified } = pooled
  if (tls === null) return null
  return `${tls.protocol} ${tls.cipher}, ${nameFor(policy, protectionOf(pooled))}, certificate ${isVerified ? '' : 'not '}verified`
}

function tlsRemark(session: Session): string {
  return session.tls === null ? ', not encrypted' : `, ${session.tls.protocol} ${session.tls.cipher}`
}

/** Lost before the server had said anything about this message. */
export function isStale(result: TransactionResult): boolean {
  return result.kind === 'lost' && !result.afterDot && (result.stage === 'mail' || result.stage === 'rset')
}

/**
 * 421 at MAIL on a connection that has carried mail is about the connection: many servers end one this way after its share of messages.
 * A new one tells whether there was more to it.
 */
export function isFullUp(result: TransactionResult, session: Session): boolean {
  return result.kind === 'rejected' && result.reply.code === 421 && result.stage === 'mail' && session.delivered > 0
}

/** Nothing was said about the message: not one of its tries. */
function unreachable({ reason, detail, reply, isOurs }: NotOpened): Outcome {
  return { kind: 'deferred', scope: isOurs === true ? 'source' : 'host', reason, detail, reply: reply ?? null, isCounted: false }
}

/** RFC 3463 X.4.4. Soft: the address may be good, its domain's DNS is not. */
function unroutable({ detail }: NotOpened): Outcome {
  const reply = composeReply(550, '5.4.4', detail)
  return { kind: 'bounced', scope: 'destination', reason: 'no-host', isHard: false, detail: formatReply(reply), reply }
}

export function outcomeOf(result: TransactionResult): Outcome {
  if (result.kind === 'accepted') return { kind: 'delivered', reply: result.reply }
  if (result.kind === 'rejected') return classifyReply(result.stage, result.reply)
  if (result.afterDot) return { kind: 'unknown', reason: 'lost-after-dot', detail: `the link was lost after the final dot (${result.detail}): the receiver may have it` }
  return { kind: 'deferred', scope: 'host', reason: 'link-lost', detail: `the link was lost at ${result.stage}: ${result.detail}`, reply: null, isCounted: false }
}
