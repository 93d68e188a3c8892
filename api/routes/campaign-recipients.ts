/**
 * The recipients of a campaign: who received it, who did not, and why; in pages behind a cursor, or all of them as
 * CSV.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { LEDGER_STATES } from '#src/campaigns/ledger-states.ts'
import {
  toEmailId,
  exportLedger,
  LEDGER_FILTERS,
  readLedger,
  TIME_COLUMNS,
  type LedgerRow,
} from '#src/campaigns/recipient-list.ts'
import { findCampaign } from '#src/campaigns/store.ts'
import { findReasonTranslation } from '#src/messages/reason-texts.ts'
import { invalid } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp, translation } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { ACCESS, byId, NO_CAMPAIGN } from './campaign-view.ts'

const filterField = z.enum(LEDGER_FILTERS).optional().meta({ description: 'only recipients in this state' })
const nullableText = z.string().nullable()
const recipientSchema = z.object({
  contact_id: z.uuid(),
  email: z.string(),
  state: z.enum(LEDGER_STATES),
  reason: nullableText,
  reason_translation: translation.nullable().meta({ description: 'of the reason; null: there is none' }),
  bounce_type: z.enum(['hard', 'soft']).nullable(),
  variant: z.enum(['a', 'b']).nullable(),
  email_id: nullableText,
  ...Object.fromEntries(TIME_COLUMNS.map((name) => [name, timestamp.nullable()])),
})

const list = route({
  name: 'list-campaign-recipients',
  summary: 'List the recipients of a campaign: who received it, who did not, and why',
  method: 'GET',
  paths: ['/public/campaigns/:id/recipients'],
  access: ACCESS,
  params: byId,
  query: z.object({
    limit: paging.shape.limit,
    after: z.string().max(64).optional().meta({ description: '`next` of the previous page' }),
    cursor: paging.shape.cursor,
    filter: filterField,
  }),
  status: 200,
  response: envelope(z.object({ recipients: z.array(recipientSchema), next: nullableText, ...nextCursorField })),
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, params, query } = request
    const page = openPage(ctx, 'list-campaign-recipients', request)
    if (isRefusal(page)) return page
    const { limit } = query
    // a client repeats `after` with the cursor: it is the start of the first page only
    const after = page.at?.key[0] ?? query.after ?? null
    if (!(await campaignExists(ctx, caller.workspaceId, params.id))) return NO_CAMPAIGN
    if (after !== null && !isUuid(after)) return invalid([{ path: 'after', message: 'is not a cursor of this list' }])
    const rows = await readLedger(ctx.db, {
      workspaceId: caller.workspaceId,
      campaignId: params.id,
      filter: query.filter ?? null,
      after,
      limit: limit + 1, // one more shows whether there is a next page
    })
    const shown = rows.slice(0, limit)
    const next = shown.length < limit ? null : (shown.at(-1)?.contact_id ?? null)
    const position = rows.length > limit && next !== null ? { key: [next], before: 0, total: 0 } : null
    return {
      body: {
        success: true,
        message: `${countText(shown.length, 'recipient')}.`,
        data: { recipients: shown.map(presentRecipient), next, ...nextCursor(position, page) },
      },
    }
  },
})

const exportCsv = route({
  name: 'export-campaign-recipients',
  summary: 'Export the recipients of a campaign as CSV',
  method: 'GET',
  paths: ['/public/campaigns/:id/recipients.csv'],
  access: ACCESS,
  params: byId,
  query: z.object({ filter: filterField }),
  status: 200,
  produces: ['text/csv'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, query }) => {
    if (!(await campaignExists(ctx, caller.workspaceId, params.id))) return NO_CAMPAIGN
    const lines = exportLedger(ctx.db, {
      workspaceId: caller.workspaceId,
      campaignId: params.id,
      filter: query.filter ?? null,
    })
    return {
      body: Readable.from(lines, { highWaterMark: 1 }),
      type: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="recipients.csv"' },
    }
  },
})

export const CAMPAIGN_RECIPIENT_ROUTES: readonly AnyRoute[] = [list, exportCsv]

async function campaignExists(ctx: ApiContext, workspaceId: string, id: string): Promise<boolean> {
  return isUuid(id) && (await findCampaign(ctx.db, workspaceId, id)) !== null
}

function presentRecipient(row: LedgerRow): Record<string, unknown> {
  const { message_id: messageId, ...fields } = row
  const times = Object.fromEntries(TIME_COLUMNS.map((name) => [name, row[name]?.toISOString() ?? null]))
  const ofReason = row.reason === null ? null : findReasonTranslation(row.reason)
  return { ...fields, reason_translation: ofReason, ...times, email_id: toEmailId(messageId) }
}
