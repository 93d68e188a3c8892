/**
 * What replies do to a throttle: accepted mail recovers the limit slowly, and a refusal triggers the first matching
 * rule of the shaping file. Conversations that are under way together are refused together: they cause one halving,
 * one suspension and one notice.
 */
import type { Context } from '#src/context.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { NoticeBuffer } from '#src/operator/notice-buffer.ts'
import type { ReplyRule } from '#src/shaping/shaping-file.ts'
import { halve, startAfterSuspension, type LearnedLimit } from '#src/shaping/learned-limits.ts'
import { findRule } from '#src/shaping/rule-match.ts'
import { WILDCARD, fromText } from '#src/shaping/throttle-key.ts'
import type { ReceiverSuspension, ReceiverSuspensionWatch } from '#src/shaping/receiver-suspensions.ts'
import type { ShapingWatch } from '#src/shaping/shaping-file-watch.ts'
import type { Throttle } from './throttle.ts'

/** The log reports a rule at a receiver at most once in this time; the notice counts each reply. */
const LOG_INTERVAL_MS = 600_000

export interface ReplyEffectDeps {
  readonly ctx: Pick<Context, 'clock' | 'config' | 'log'>
  readonly shaping: Pick<ShapingWatch, 'current'>
  readonly suspensions: Pick<ReceiverSuspensionWatch, 'find' | 'add'>
  readonly learn: (throttle: Throttle, learned: LearnedLimit) => void
  readonly notices: Pick<NoticeBuffer, 'raise'>
}

export interface ReplyEffects {
  /**
   * Applies the shaping rule that matches the reply to a message; null: no server replied. `source` is the one that the
   * message left from; null: the system chose the address.
   */
  apply(throttle: Throttle, reply: Reply | null, workspaceId: string, source: string | null): void
}

interface MatchedReply {
  readonly throttle: Throttle
  readonly rule: ReplyRule
  readonly reply: Reply
  readonly workspaceId: string
  readonly source: string
}

type RuleAction = (deps: ReplyEffectDeps, matched: MatchedReply, loggedAtMs: Map<string, number>) => void

const ACTIONS: Readonly<Record<ReplyRule['action'], RuleAction>> = { slow: slowDown, suspend, tell: notifyOperator }

export function createReplyEffects(deps: ReplyEffectDeps): ReplyEffects {
  const loggedAtMs = new Map<string, number>()
  return {
    apply: (throttle, reply, workspaceId, source) => {
      if (reply === null) return
      if (reply.code < 400) {
        throttle.acceptedMessages++
        return
      }
      const rule = findRule(deps.shaping.current, throttle.receiver.name, reply)
      if (rule !== null)
        ACTIONS[rule.action](
          deps,
          { throttle, rule, reply, workspaceId, source: source ?? throttle.source },
          loggedAtMs,
        )
    },
  }
}

function slowDown({ ctx, learn }: ReplyEffectDeps, { throttle, rule, reply }: MatchedReply): void {
  const learned = halve(throttle.learned, throttle.receiver.connections, {
    nowMs: ctx.clock.now(),
    scale: ctx.config.retryScale,
  })
  if (learned === throttle.learned) return
  learn(throttle, learned)
  const { connections } = learned
  ctx.log.info(
    { receiver: throttle.key, source: throttle.source, rule: rule.name, connections, reply: reply.text },
    'a shaping rule lowered the connection limit of a receiver',
  )
}

/** What a suspension applies to. A workspace is suspended for its mail, from whatever source. */
function suspensionScopeOf({
  throttle,
  rule: { scope },
  workspaceId,
  source,
}: MatchedReply): Pick<ReceiverSuspension, 'pace' | 'source' | 'workspaceId'> {
  if (scope === 'workspace') return { pace: throttle.key, source: WILDCARD, workspaceId }
  return scope === 'source'
    ? { pace: WILDCARD, source, workspaceId: null }
    : { pace: throttle.key, source: throttle.source, workspaceId: null }
}

function suspend({ ctx, suspensions, learn }: ReplyEffectDeps, matched: MatchedReply): void {
  const { throttle, rule, reply } = matched
  const suspensionScope = suspensionScopeOf(matched)
  if (suspensions.find(suspensionScope.pace, suspensionScope.source, suspensionScope.workspaceId)?.rule === rule.name)
    return
  const now = ctx.clock.now()
  const until = new Date(now + rule.durationMs * ctx.config.retryScale)
  const { name, scope } = rule
  ctx.log.warn(
    { receiver: throttle.key, source: matched.source, rule: name, of: scope, until, reply: reply.text },
    'a shaping rule suspended a receiver',
  )
  if (rule.scope !== 'workspace') learn(throttle, startAfterSuspension(now))
  suspensions.add({
    ...suspensionScope,
    rule: rule.name,
    reply: `${reply.code} ${reply.text}`,
    until,
    createdAt: new Date(now),
  })
}

function notifyOperator(
  { ctx, notices }: ReplyEffectDeps,
  { throttle, rule, reply }: MatchedReply,
  loggedAtMs: Map<string, number>,
): void {
  const name = `${throttle.key}${fromText(throttle.source)} ${rule.name}`
  notices.raise({ kind: 'reply', subject: name, text: formatReply(reply) })
  if (ctx.clock.now() - (loggedAtMs.get(name) ?? -Infinity) < LOG_INTERVAL_MS) return
  loggedAtMs.set(name, ctx.clock.now())
  const { code, text } = reply
  ctx.log.warn(
    { receiver: throttle.key, source: throttle.source, rule: rule.name, code, reply: text },
    'a receiver replied with a problem that needs the operator',
  )
}
