/**
 * What replies do to a pace: mail that is taken adds back slowly, and the first rule of the shaping file that a refusal meets is carried
 * out. Conversations that were under way together are refused together: that is one halving, one suspension, one word to the operator.
 */
import type { Context } from '#src/context.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { NoticeBook } from '#src/operator/notice-buffer.ts'
import type { ReplyRule } from '#src/shaping/shaping-file.ts'
import { halve, startOver, type Learned } from '#src/shaping/learned-limits.ts'
import { findRule } from '#src/shaping/rule-match.ts'
import { EVERYWHERE, fromText } from '#src/shaping/throttle-key.ts'
import type { ReceiverSuspension, ReceiverSuspensionWatch } from '#src/shaping/receiver-suspensions.ts'
import type { ShapingWatch } from '#src/shaping/shaping-file-watch.ts'
import type { Pace } from './throttle.ts'

/** The log tells the same of a receiver once in so long; the notice counts each. */
const TELL_MS = 600_000

export interface ReplyMeans {
  readonly ctx: Pick<Context, 'clock' | 'config' | 'log'>
  readonly shaping: Pick<ShapingWatch, 'current'>
  readonly suspensions: Pick<ReceiverSuspensionWatch, 'find' | 'add'>
  readonly learn: (pace: Pace, learned: Learned) => void
  readonly notices: Pick<NoticeBook, 'raise'>
}

export interface Replies {
  /** Null for `reply`: no server said anything. `source` is whose connection it was said on, where the pace is of all of them. */
  hear(pace: Pace, reply: Reply | null, workspaceId: string, source?: string): void
}

interface Told {
  readonly pace: Pace
  readonly rule: ReplyRule
  readonly reply: Reply
  readonly workspaceId: string
  readonly source: string
}

type Act = (means: ReplyMeans, told: Told, toldAtMs: Map<string, number>) => void

const ACTIONS: Readonly<Record<ReplyRule['action'], Act>> = { slow, suspend, tell }

export function createReplies(means: ReplyMeans): Replies {
  const toldAtMs = new Map<string, number>()
  return {
    hear: (pace, reply, workspaceId, source = pace.source) => {
      if (reply === null) return
      if (reply.code < 400) {
        pace.deliveries++
        return
      }
      const rule = findRule(means.shaping.current, pace.receiver.name, reply)
      if (rule !== null) ACTIONS[rule.action](means, { pace, rule, reply, workspaceId, source }, toldAtMs)
    },
  }
}

function slow({ ctx, learn }: ReplyMeans, { pace, rule, reply }: Told): void {
  const learned = halve(pace.learned, pace.receiver.connections, {
    nowMs: ctx.clock.now(),
    scale: ctx.config.retryScale,
  })
  if (learned === pace.learned) return
  learn(pace, learned)
  const { connections } = learned
  ctx.log.info(
    { receiver: pace.key, source: pace.source, rule: rule.name, connections, reply: reply.text },
    'a receiver slows us down',
  )
}

/** Where a suspension holds. A workspace is refused for its mail, whatever source that came by. */
function placeOf({
  pace,
  rule: { scope },
  workspaceId,
  source,
}: Told): Pick<ReceiverSuspension, 'pace' | 'source' | 'workspaceId'> {
  if (scope === 'workspace') return { pace: pace.key, source: EVERYWHERE, workspaceId }
  return scope === 'source'
    ? { pace: EVERYWHERE, source, workspaceId: null }
    : { pace: pace.key, source: pace.source, workspaceId: null }
}

function suspend({ ctx, suspensions, learn }: ReplyMeans, told: Told): void {
  const { pace, rule, reply } = told
  const place = placeOf(told)
  if (suspensions.find(place.pace, place.source, place.workspaceId)?.rule === rule.name) return
  const now = ctx.clock.now()
  const until = new Date(now + rule.durationMs * ctx.config.retryScale)
  const { name, scope } = rule
  ctx.log.warn(
    { receiver: pace.key, source: told.source, rule: name, of: scope, until, reply: reply.text },
    'a receiver is left alone for a while',
  )
  if (rule.scope !== 'workspace') learn(pace, startOver(now))
  suspensions.add({ ...place, rule: rule.name, reply: `${reply.code} ${reply.text}`, until, createdAt: new Date(now) })
}

function tell({ ctx, notices }: ReplyMeans, { pace, rule, reply }: Told, toldAtMs: Map<string, number>): void {
  const name = `${pace.key}${fromText(pace.source)} ${rule.name}`
  notices.raise({ kind: 'reply', subject: name, text: formatReply(reply) })
  if (ctx.clock.now() - (toldAtMs.get(name) ?? -Infinity) < TELL_MS) return
  toldAtMs.set(name, ctx.clock.now())
  const { code, text } = reply
  ctx.log.warn(
    { receiver: pace.key, source: pace.source, rule: rule.name, code, reply: text },
    'a receiver says what only the operator can mend',
  )
}
