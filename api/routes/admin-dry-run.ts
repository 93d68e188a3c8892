/**
 * A dry run: a message as far as RCPT, without sending it. This process opens no SMTP connection. It asks an
 * outbound process and waits for the report as long as an HTTP client waits; a report that comes later is stored
 * and found by its id.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { invalid, refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { requestDryRun, findDryRun, type DryRunReport } from '#src/operator/dry-runs.ts'
import { parseFilter } from '#src/operator/filter.ts'
import { hasOutbound } from '#src/queue/lease-observer.ts'
import { recordAction } from '#src/operator/action-log.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { operatorName } from './admin-queue.ts'

const POLL_INTERVAL_MS = 200
const MAX_WAIT_MS = 25_000

const verdict = z.enum(['ok', 'warn', 'fail'])
const step = z.object({
  step: z.string(),
  status: z.enum(['ok', 'warn', 'fail', 'skipped']),
  says: z.string(),
  todo: z.string().nullable().meta({ description: 'what to do about it' }),
})
const dryRunResponse = envelope(
  z.object({
    id: z.uuid(),
    state: z.enum(['waiting', 'done']),
    result: verdict.nullable(),
    steps: z.array(step),
    conversation: z.array(z.string()).meta({ description: 'the SMTP conversation with the receiver, line by line' }),
  }),
).meta({ id: 'DryRun' })

const address = z
  .string()
  .max(320, 'is too long')
  .refine((text) => parseAddress(text).ok, 'is not an email address')
const body = z.object({
  from: address,
  to: address,
  workspace: z.string().min(1).max(255).optional().meta({ description: 'the id, key part or name of a workspace' }),
  raw: z
    .string()
    .max(1_000_000, 'at most 1,000,000 characters')
    .optional()
    .meta({ description: 'a complete message; by default a generated one' }),
  wait: z.boolean().default(true).meta({ description: 'false: return immediately; get the result by its id' }),
})

const start = route({
  name: 'admin-dry-run',
  summary: 'Run a message through every gate, DNS, connection, MAIL and RCPT, then RSET; check DKIM, SPF and DMARC',
  method: 'POST',
  paths: ['/admin/dry-run'],
  access: 'operator',
  body,
  status: 200,
  response: dryRunResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (
    ctx,
    { body: { from, to, workspace, raw, wait }, headers, address: clientAddress, closeSignal, person },
  ) => {
    const read = await parseFilter({ workspace }, { db: ctx.db, nowMs: ctx.clock.now() })
    if (!read.ok) return invalid(read.details)
    const bytes = raw === undefined ? null : Buffer.from(raw.replace(/\r?\n/g, '\r\n'))
    const id = await requestDryRun(ctx, { from, to, workspaceId: read.filter.workspace ?? null, raw: bytes })
    await recordAction(
      ctx,
      {
        verb: 'dry-run',
        subject: { from, to },
        reason: '',
        by: operatorName({ headers, address: clientAddress, person }),
      },
      'done',
    )
    return respondWithReport(id, wait ? await awaitReport(ctx, id, closeSignal()) : null)
  },
})

const show = route({
  name: 'admin-get-dry-run',
  summary: 'Get the result of a dry run, stored for an hour',
  method: 'GET',
  paths: ['/admin/dry-run/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  response: dryRunResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) => {
    const found = isUuid(id) ? await findDryRun(ctx.db, id) : { kind: 'none' as const }
    if (found.kind === 'none')
      return refuse('NOT_FOUND', 'There is no such dry run. Start another one with admin-dry-run.')
    return respondWithReport(id, found.kind === 'done' ? found.report : null)
  },
})

export const ADMIN_DRY_RUN_ROUTES: readonly AnyRoute[] = [start, show]

/** Null if the report takes longer than a client waits, or if no outbound process is running. */
async function awaitReport(ctx: ApiContext, id: string, closed: AbortSignal): Promise<DryRunReport | null> {
  if (!(await hasOutbound(ctx.db))) return null
  for (
    const deadline = performance.now() + MAX_WAIT_MS;
    performance.now() < deadline && !closed.aborted;
    await sleep(POLL_INTERVAL_MS)
  ) {
    const found = await findDryRun(ctx.db, id)
    if (found.kind === 'done') return found.report
  }
  return null
}

const MESSAGES = {
  ok: 'The receiver would accept it.',
  warn: 'The receiver would accept it; see the warnings.',
  fail: 'It would not be delivered.',
} as const

function respondWithReport(id: string, report: DryRunReport | null): ApiResponse {
  const message = report === null ? 'No outbound process has reported yet.' : MESSAGES[report.result]
  const data =
    report === null
      ? { id, state: 'waiting', result: null, steps: [], conversation: [] }
      : { id, state: 'done', result: report.result, steps: report.steps, conversation: report.conversation }
  return { body: { success: true, message, data } }
}
