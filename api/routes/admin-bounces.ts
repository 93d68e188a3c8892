/**
 * Received bounces and complaints of all workspaces, each as it was received, and the suppressions that are on hold.
 * The command line has the same: `mailstead bounces`. Reports come from anybody: they are returned as JSON or as a
 * download, never as a page.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'
import { listReports, readRawReport } from '#src/suppression/report-list.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const nullableText = z.string().nullable()
const reportSchema = z
  .object({
    id: z.uuid(),
    received_at: timestamp.meta({ description: 'when the inbound process accepted it' }),
    kind: nullableText.meta({ description: 'what kind of report it is; null while it is not processed' }),
    result: nullableText.meta({ description: 'what it led to; null while it is not processed' }),
    recipient: nullableText.meta({ description: 'the recipient of ours that it is about' }),
    mail_from: z.string(),
    peer: z.string().meta({ description: 'the IP address that delivered it' }),
    email_id: nullableText.meta({ description: 'the message it is about, as `em_…`' }),
    diagnostic: nullableText.meta({ description: 'the reply that it quotes, up to 300 characters' }),
  })
  .meta({ id: 'ReceivedReport' })

const list = route({
  name: 'admin-list-reports',
  summary: 'List received bounces and complaints, newest first',
  method: 'GET',
  paths: ['/admin/reports'],
  access: 'operator',
  query: z.object({
    limit: paging.shape.limit,
    cursor: paging.shape.cursor,
    letters: z
      .enum(['true', 'false'])
      .default('false')
      .meta({ description: '`true`: mail to postmaster instead of reports' }),
  }),
  status: 200,
  response: envelope(z.object({ reports: z.array(reportSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-reports', request)
    if (isRefusal(page)) return page
    const { items, next } = await listReports(ctx.db, { ...page, isForPostmaster: request.query.letters === 'true' })
    const reports = items.map((one) => ({
      id: one.id,
      received_at: one.receivedAt.toISOString(),
      kind: one.kind,
      result: one.result,
      recipient: one.recipient,
      mail_from: one.mailFrom,
      peer: one.peer,
      email_id: one.messageId === null ? null : `em_${hexOf(one.messageId)}`,
      diagnostic: one.diagnostic,
    }))
    const data = { reports, ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(reports.length, 'report')}.`, data } }
  },
})

const getRaw = route({
  name: 'admin-get-report-raw',
  summary: 'Download a bounce or complaint as it was received',
  method: 'GET',
  paths: ['/admin/reports/:id/raw'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  produces: ['message/rfc822'],
  errors: ['NOT_FOUND'],
  handle: async ({ db }, { params: { id } }) => {
    const raw = isUuid(id) ? await readRawReport(db, id) : null
    if (raw === null) return refuse('NOT_FOUND', 'There is no such report. List them with admin-list-reports.')
    return {
      body: Readable.from([raw]),
      type: 'message/rfc822',
      headers: { 'Content-Disposition': `attachment; filename="${id}.eml"` },
    }
  },
})

const held = route({
  name: 'admin-list-held-suppressions',
  summary: 'Count the suppressions on hold, by receiver',
  description: 'A bounce that many addresses of a receiver get at once is held until it is clear that it is no outage.',
  method: 'GET',
  paths: ['/admin/held-suppressions'],
  access: 'operator',
  status: 200,
  response: envelope(
    z.object({
      held: z
        .array(
          z
            .object({
              hold: z.string().meta({ description: 'why they are held' }),
              receiver: z.string().meta({ description: 'the receiver' }),
              count: z.int().min(0).meta({ description: 'addresses' }),
              since: timestamp.meta({ description: 'since when the first of them is held' }),
            })
            .meta({ id: 'HeldSuppressions' }),
        )
        .meta({ description: 'the largest first' }),
    }),
  ),
  errors: [],
  handle: async ({ db }) => {
    const found = (await countPending(db)).map(({ hold, receiver, count, since }) => ({
      hold,
      receiver,
      count,
      since: since.toISOString(),
    }))
    return { body: { success: true, message: `${countText(found.length, 'receiver')}.`, data: { held: found } } }
  },
})

export const ADMIN_BOUNCE_ROUTES: readonly AnyRoute[] = [list, getRaw, held]
