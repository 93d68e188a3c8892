/**
 * A message on its way as far as RCPT; nothing is sent. This process opens no SMTP connection: an outbound process is asked, and answered
 * for as long as a client waits. Who asks too early for the answer gets it later by its id.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { invalid, refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { askDryRun, findDryRun, type DryRunReport } from '#src/operator/dry-runs.ts'
import { readFilter } from '#src/operator/filter.ts'
import { hasOutbound } from '#src/queue/lease.ts'
import { recordAction } from '#src/operator/audit-log.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'
import { operatorName } from './admin-queue.ts'

const LOOK_MS = 200
const WAIT_MS = 25_000

const verdict = z.enum(['ok', 'warn', 'fail'])
const step = z.object({
  step: z.string(),
  status: z.enum(['ok', 'warn', 'fail', 'skipped']),
  says: z.string(),
  todo: z.string().nullable().meta({ description: 'what to do about it' }),
})
const answer = enveloped(
  z.object({
    id: z.uuid(),
    state: z.enum(['waiting', 'done']),
    result: verdict.nullable(),
    steps: z.array(step),
    conversation: z.array(z.string()).meta({ description: 'what was said with the receiver, line by line' }),
  }),
).meta({ id: 'DryRun' })

const address = z
  .string()
  .max(320, 'is too long')
  .refine((text) => parseAddress(text).ok, 'is no address')
const body = z.object({
  from: address,
  to: address,
  workspace: z.string().min(1).max(255).optional().meta({ description: 'its id, key part or name' }),
  raw: z
    .string()
    .max(1_000_000, 'at most 1,000,000 characters')
    .optional()
    .meta({ description: 'a whole message; one is made up without it' }),
  wait: z.boolean().default(true).meta({ description: 'false: answer at once, ask for the result by its id' }),
})

const begin = route({
  name: 'admin-dry-run',
  summary: 'Rehearse a message: every gate, DNS, connection, MAIL and RCPT, then RSET; DKIM, SPF and DMARC',
  method: 'POST',
  paths: ['/admin/dry-run'],
  access: 'operator',
  body,
  status: 200,
  answer,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { body: { from, to, workspace, raw, wait }, headers, address: place, gone }) => {
    const read = await readFilter({ workspace }, { db: ctx.db, nowMs: ctx.clock.now() })
    if (!read.ok) return invalid(read.details)
    const bytes = raw === undefined ? null : Buffer.from(raw.replace(/\r?\n/g, '\r\n'))
    const id = await askDryRun(ctx, { from, to, workspaceId: read.filter.workspace ?? null, raw: bytes })
    await recordAction(
      ctx,
      { verb: 'dry-run', subject: { from, to }, reason: '', by: operatorName(headers, place) },
      'done',
    )
    return tell(id, wait ? await awaitReport(ctx, id, gone) : null)
  },
})

const show = route({
  name: 'admin-get-dry-run',
  summary: 'The result of a dry run, kept for an hour',
  method: 'GET',
  paths: ['/admin/dry-run/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  answer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) => {
    const found = isUuid(id) ? await findDryRun(ctx.db, id) : { kind: 'none' as const }
    if (found.kind === 'none') return refuse('NOT_FOUND', 'There is no such dry run.')
    return tell(id, found.kind === 'done' ? found.report : null)
  },
})

export const ADMIN_DRY_RUN_ROUTES: readonly AnyRoute[] = [begin, show]

/** Null when it takes longer than a client waits, or nobody is there to answer. */
async function awaitReport(ctx: ApiContext, id: string, gone: AbortSignal): Promise<DryRunReport | null> {
  if (!(await hasOutbound(ctx.db))) return null
  for (const end = performance.now() + WAIT_MS; performance.now() < end && !gone.aborted; await sleep(LOOK_MS)) {
    const found = await findDryRun(ctx.db, id)
    if (found.kind === 'done') return found.report
  }
  return null
}

const MESSAGES = {
  ok: 'It would be taken.',
  warn: 'It would be taken; see the warnings.',
  fail: 'It would not be taken.',
} as const

function tell(id: string, report: DryRunReport | null): Answer {
  const message = report === null ? 'No outbound process has answered yet.' : MESSAGES[report.result]
  const data =
    report === null
      ? { id, state: 'waiting', result: null, steps: [], conversation: [] }
      : { id, state: 'done', result: report.result, steps: report.steps, conversation: report.conversation }
  return { body: { success: true, message, data } }
}
