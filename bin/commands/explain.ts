/** `mailstead explain ID`: why a message is where it is, gate by gate, its timeline, and every word of every attempt. */
import { type Action, type Io, runAction, UsageError } from '#bin/cli/actions.ts'
import { lineText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { loadPlans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import { explainMessage, type Explanation } from '#src/messages/explain.ts'
import type { Gate } from '#src/messages/gates.ts'
import type { AttemptView, EventView } from '#src/messages/read.ts'
import type { Redis } from '#src/stores/redis.ts'

const EXPLAIN: Action = {
  usage: 'ID',
  words: [1, 1],
  run: (call) => {
    const id = messageIdOf(call.word(0))
    if (id === null) throw new UsageError(`${JSON.stringify(call.word(0))} is no message id (em_…, msg_…)`)
    return withContext(call.io, async (ctx) => {
      const { db, config } = ctx
      const { retryScale, reconcileSeconds } = config
      const means = { db, redis: redisOf(ctx), plans: loadPlans(config.plansFile), retryScale, reconcileSeconds }
      const explanation = await explainMessage(means, null, id, new Date(ctx.clock.now()))
      if (explanation === null) return call.fail(`There is no message ${call.word(0)}.`)
      return call.answer(textOf(explanation), jsonOf(explanation))
    })
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('explain', EXPLAIN, args, io)
}

/** A system that does not run has no Redis; what PostgreSQL knows is explained all the same. */
function redisOf(ctx: Context): Redis | null {
  try {
    return ctx.redis
  } catch {
    return null
  }
}

function textOf({ message, recipients }: Explanation): string {
  return [
    `em_${hexOf(message.id)}: ${message.status}, tier ${message.tier}, accepted ${message.createdAt.toISOString()}`,
    `From ${message.from.email}: ${message.subject}`,
    ...recipients.flatMap(({ recipient, says, until, gates }) => [
      '',
      `${recipient.address}  ${says}${untilOf(until)}`,
      ...gates.map(gateLine),
      ...recipient.attempts.flatMap(attemptLines),
    ]),
    '',
    'Events',
    ...message.events.map(eventLine),
  ]
    .map(lineText)
    .join('\n')
}

function eventLine({ sequence, createdAt, type, recipient }: EventView): string {
  return `  ${sequence}  ${createdAt.toISOString()}  ${type}  ${recipient}`
}

function gateLine({ gate, holds, says, rule, until }: Gate): string {
  return `  ${holds ? 'HOLDS' : 'open '}  ${gate}: ${says}${rule === null ? '' : ` (${rule})`}${untilOf(until)}`
}

function untilOf(until: Date | null): string {
  return until === null ? '' : `, until ${until.toISOString()}`
}

function attemptLines(attempt: AttemptView): string[] {
  const tls = attempt.tls === null ? '' : `, ${attempt.tls}`
  const from = attempt.source === null ? '' : ` from ${attempt.source}`
  const where = attempt.host === null ? '' : ` at ${attempt.host} [${attempt.address ?? ''}]${from}${tls}`
  return [
    `  attempt ${attempt.attempt}, ${attempt.at.toISOString()}: ${attempt.outcome}${where}, ${attempt.durationMs} ms`,
    ...attempt.conversation.split('\n').map((line) => `    ${line}`),
  ]
}

function jsonOf({ message, recipients }: Explanation): object {
  return {
    email_id: `em_${hexOf(message.id)}`,
    status: message.status,
    tier: message.tier,
    from: message.from.email,
    subject: message.subject,
    created_at: message.createdAt,
    recipients: recipients.map(({ recipient, says, heldBy, until, gates }) => ({
      address: recipient.address,
      state: recipient.state,
      holds: says,
      held_by: heldBy,
      until,
      gates,
      tries: recipient.tries,
      attempts: recipient.attempts.map((attempt) => ({
        attempt: attempt.attempt,
        at: attempt.at,
        outcome: attempt.outcome,
        scope: attempt.scope,
        reason: attempt.reason,
        code: attempt.replyCode,
        status: attempt.replyStatus,
        text: attempt.replyText,
        host: attempt.host,
        address: attempt.address,
        source: attempt.source,
        tls: attempt.tls,
        duration_ms: attempt.durationMs,
        conversation: attempt.conversation,
      })),
    })),
    events: message.events.map(({ sequence, type, recipient, data, createdAt }) => ({
      sequence,
      type,
      recipient,
      data,
      created_at: createdAt,
    })),
  }
}
