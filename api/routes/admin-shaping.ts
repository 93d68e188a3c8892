/**
 * Traffic shaping: how each receiver is treated now, and what a shaping file would do before it is used. The command
 * line has the same: `mailstead shaping`. Receivers are resumed with admin-resume. The file itself is changed on the
 * machines of the installation (SHAPING_FILE); a file in a request is only examined, and is parsed as hostile text.
 */
import { z } from 'zod'
import { invalid } from '#src/platform/errors.ts'
import { loadLearnedLimits } from '#src/shaping/learned-limits.ts'
import { listReceiverSuspensions } from '#src/shaping/receiver-suspensions.ts'
import { replayShaping, type ActionCounts } from '#src/shaping/reply-replay.ts'
import { checkShapingFile, MAX_PROBLEMS } from '#src/shaping/shaping-file-parser.ts'
import { parsedShaping, shapingFileOf } from '#src/shaping/shaping-file-watch.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const DAY_MS = 86_400_000
const MAX_FILE = 256 * 1024
const MAX_DAYS = 31
const count = z.int().min(0)

const receiverSchema = z
  .object({
    receiver: z.string().meta({ description: 'the receiver, or one of its sites; `*`: every receiver of the source' }),
    source: z.string().meta({ description: 'the sending address it applies to; `*`: all' }),
    workspace_id: z.uuid().nullable().meta({ description: 'null: all workspaces' }),
    state: z.enum(['suspended', 'slowed']).meta({
      description: '`suspended`: nothing is sent until then; `slowed`: fewer connections than the file allows',
    }),
    connections: count.nullable().meta({ description: 'connections at a time that were learned; null: suspended' }),
    rule: z.string().nullable().meta({ description: 'the reply rule that suspended it' }),
    reply: z.string().nullable().meta({ description: 'the reply that the rule matched' }),
    since: timestamp.meta({ description: 'when it was suspended or slowed down' }),
    until: timestamp.nullable().meta({ description: 'when it is tried again; null: the limit grows by itself' }),
  })
  .meta({ id: 'ShapedReceiver' })

const status = route({
  name: 'admin-get-shaping',
  summary: 'List the receivers that are suspended or slowed down, each with its throttle',
  method: 'GET',
  paths: ['/admin/shaping'],
  access: 'operator',
  status: 200,
  response: envelope(z.object({ receivers: z.array(receiverSchema).meta({ description: 'suspended ones first' }) })),
  errors: [],
  handle: async ({ db, clock }) => {
    const suspended = await listReceiverSuspensions(db, new Date(clock.now()))
    const learned = await loadLearnedLimits(db)
    const receivers = [
      ...suspended.map(({ pace, source, workspaceId, rule, reply, createdAt, until }) => ({
        receiver: pace,
        source,
        workspace_id: workspaceId,
        state: 'suspended',
        connections: null,
        rule,
        reply,
        since: createdAt.toISOString(),
        until: until.toISOString(),
      })),
      ...learned.map(({ pace, source, connections, reducedAtMs }) => ({
        receiver: pace,
        source,
        workspace_id: null,
        state: 'slowed',
        connections: Math.floor(connections),
        rule: null,
        reply: null,
        since: new Date(reducedAtMs).toISOString(),
        until: null,
      })),
    ]
    return { body: { success: true, message: `${countText(receivers.length, 'receiver')}.`, data: { receivers } } }
  },
})

const file = z
  .string()
  .min(1, 'is empty')
  .max(MAX_FILE, `has more than ${MAX_FILE} characters`)
  .meta({ description: 'the text of a shaping file (YAML)' })
const EXAMPLE = 'receivers:\n  gmail:\n    mx: [gmail-smtp-in.l.google.com]\n    connections: 10\n'

const check = route({
  name: 'admin-check-shaping',
  summary: 'Validate a shaping file, without using it',
  method: 'POST',
  paths: ['/admin/shaping/check'],
  access: 'operator',
  body: z.object({ file }).meta({ examples: [{ file: EXAMPLE }] }),
  status: 200,
  response: envelope(
    z.object({
      is_valid: z.boolean().meta({ description: 'whether the outbound processes would use it' }),
      problems: z
        .array(
          z.object({
            line: count.meta({ description: 'the line, from 1; 0: no single one' }),
            text: z.string().meta({ description: 'what is wrong, and what to write instead' }),
          }),
        )
        .meta({ description: `what is wrong with it, the first ${MAX_PROBLEMS}` }),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (_ctx, { body }) => {
    const checked = await checkShapingFile(body.file)
    if (checked.kind === 'valid')
      return { body: { success: true, message: 'The file is valid.', data: { is_valid: true, problems: [] } } }
    const { problems, problemCount } = checked
    const message = `The file has ${countText(problemCount, 'problem')}.`
    return { body: { success: true, message, data: { is_valid: false, problems } } }
  },
})

const counts = z.object({
  suspend: count.meta({ description: 'replies that suspend' }),
  slow: count.meta({ description: 'replies that slow down' }),
  tell: count.meta({ description: 'replies that raise a notice only' }),
  nothing: count.meta({ description: 'replies without a rule' }),
})

const replay = route({
  name: 'admin-replay-shaping',
  summary: 'Show what a shaping file would have done with the replies of the last days',
  method: 'POST',
  paths: ['/admin/shaping/replay'],
  access: 'operator',
  body: z
    .object({
      file,
      days: z
        .int('must be a whole number')
        .min(1, 'must be at least 1')
        .max(MAX_DAYS, `must be at most ${MAX_DAYS}`)
        .default(7)
        .meta({ description: 'how many days of replies are read' }),
    })
    .meta({ examples: [{ file: EXAMPLE, days: 7 }] }),
  status: 200,
  response: envelope(
    z.object({
      replies: count.meta({ description: 'replies of receivers that deferred or refused mail' }),
      receivers: z
        .array(
          z.object({
            receiver: z.string().meta({ description: 'the receiver by the new file' }),
            replies: count.meta({ description: 'its replies' }),
            before: counts.meta({ description: 'with the file in use' }),
            after: counts.meta({ description: 'with the new file' }),
          }),
        )
        .meta({ description: 'by receiver' }),
      changes: z
        .array(
          z.object({
            receiver: z.string().meta({ description: 'the receiver by the new file' }),
            reply: z.string().meta({ description: 'a reply that is treated differently' }),
            count,
            before: z.string().nullable().meta({ description: 'the rule of the file in use; null: none' }),
            after: z.string().nullable().meta({ description: 'the rule of the new file; null: none' }),
          }),
        )
        .meta({ description: 'the most frequent changes' }),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async ({ db, config, clock }, { body }) => {
    const checked = await checkShapingFile(body.file)
    if (checked.kind === 'wrong') {
      const [problem] = checked.problems
      return invalid([{ path: 'file', message: `line ${problem?.line ?? 0}: ${problem?.text ?? 'is not valid'}` }])
    }
    const until = new Date(clock.now())
    const { replies, receivers, changes } = await replayShaping(db, {
      before: parsedShaping(shapingFileOf(config)),
      after: checked.shaping,
      mapped: new Set(config.routes.map(({ domain }) => domain)),
      since: new Date(until.getTime() - body.days * DAY_MS),
      until,
    })
    const data = {
      replies,
      receivers: receivers.map(({ before, after, ...one }) => ({
        receiver: one.receiver,
        replies: one.replies,
        before: presentCounts(before),
        after: presentCounts(after),
      })),
      changes,
    }
    return { body: { success: true, message: `${countText(replies, 'reply', 'replies')}.`, data } }
  },
})

function presentCounts({ suspend, slow, tell, nothing }: ActionCounts): ActionCounts {
  return { suspend, slow, tell, nothing }
}

export const ADMIN_SHAPING_ROUTES: readonly AnyRoute[] = [status, check, replay]
