/** `mailstead explain ID`: why a message is in its state, gate by gate, with its events and all SMTP conversations. */
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { lineText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { loadPlans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import { explainMessage, type Explanation } from '#src/messages/explain.ts'
import type { Gate } from '#src/messages/gates.ts'
import type { AttemptView, EventView } from '#src/messages/read.ts'
import type { Redis } from '#src/stores/redis.ts'

const EXPLAIN: CliAction = {
  summary: 'show everything that is known about one message',
  examples: ['em_01a2030fd8d97000b0498c868fabd4db'],
  usage: 'ID',
  arguments: [1, 1],
  run: (call) => {
    const id = messageIdOf(call.argument(0))
    if (id === null) throw new UsageError(`${JSON.stringify(call.argument(0))} is not a message id (em_…, msg_…)`)
    return withContext(call.io, async (ctx) => {
      const { db, config } = ctx
      const { retryScale, reconcileSeconds, shapingFile } = config
      const plans = loadPlans(config.plansFile)
      const means = { db, redis: findRedis(ctx), plans, retryScale, reconcileSeconds, shapingFile }
      const explanation = await explainMessage(means, null, id, new Date(ctx.clock.now()))
      if (explanation === null)
        return call.fail(
          `No message ${call.argument(0)} exists.`,
          'Check the id. Messages are deleted after MESSAGE_RETENTION_DAYS: see mailstead retention list.',
        )
      return call.respond(formatText(explanation), toJson(explanation))
    })
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('explain', EXPLAIN, args, io)
}

/** Null if Mailstead does not run: then the explanation uses PostgreSQL alone. */
function findRedis(ctx: Context): Redis | null {
  try {
    return ctx.redis
  } catch {
    return null
  }
}

function formatText({ message, recipients }: Explanation): string {
  return [
    `em_${hexOf(message.id)}: ${message.status}, tier ${message.tier}, accepted ${timeText(message.createdAt)}`,
    `From ${message.from.email}: ${message.subject}`,
    ...(message.requestId === null ? [] : [`Request ${message.requestId}`]),
    ...recipients.flatMap(({ recipient, says, until, gates }) => [
      '',
      `${recipient.address}  ${says}${formatUntil(until)}`,
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
  return `  ${sequence}  ${timeText(createdAt)}  ${type}  ${recipient}`
}

function gateLine({ gate, holds, says, rule, until }: Gate): string {
  return `  ${holds ? 'HOLDS' : 'open '}  ${gate}: ${says}${rule === null ? '' : ` (${rule})`}${formatUntil(until)}`
}

function formatUntil(until: Date | null): string {
  return until === null ? '' : `, until ${timeText(until)}`
}

function attemptLines(attempt: AttemptView): string[] {
  const tls = attempt.tls === null ? '' : `, ${attempt.tls}`
  const from = attempt.source === null ? '' : ` from ${attempt.source}`
  const where = attempt.host === null ? '' : ` at ${attempt.host} [${attempt.address ?? ''}]${from}${tls}`
  return [
    `  attempt ${attempt.attempt}, ${timeText(attempt.at)}: ${attempt.outcome}${where}, ${attempt.durationMs} ms`,
    ...attempt.conversation.split('\n').map((line) => `    ${line}`),
  ]
}

function toJson({ message, recipients }: Explanation): object {
  return {
    email_id: `em_${hexOf(message.id)}`,
    status: message.status,
    tier: message.tier,
    from: message.from.email,
    subject: message.subject,
    created_at: message.createdAt,
    request_id: message.requestId,
    recipients: recipients.map(({ recipient, says, heldBy, until, gates }) => ({
      address: recipient.address,
      state: recipient.state,
      holds: says,
      held_by: heldBy,
      until,
      gates: gates.map(({ ruleTranslations, ...gate }) => ({ ...gate, rule_translations: ruleTranslations })),
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
