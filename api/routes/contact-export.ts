/**
 * Contacts as a CSV file: of an audience, of a segment, of both, or all. Rows are read while the file is sent; a
 * client that disconnects ends the export.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { exportContacts } from '#src/segments/contact-export.ts'
import type { Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { findSegment } from '#src/segments/segments.ts'
import type { ContactSelection } from '#src/segments/selection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { flag } from '#api/http/boolean-field.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { NO_AUDIENCE } from './audiences.ts'
import { NO_SEGMENT } from './segments.ts'

const optionalText = z.string().optional()
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const exportQuery = z
  .object({
    audienceId: optionalText,
    audience_id: optionalText.meta(aliasOf('audienceId')),
    segmentId: optionalText,
    segment_id: optionalText.meta(aliasOf('segmentId')),
    subscribedOnly: flag.meta({ description: 'only contacts that are subscribed to the audience' }),
    subscribed_only: flag.meta(aliasOf('subscribedOnly')),
  })
  .transform((given) => ({
    audienceId: given.audienceId ?? given.audience_id ?? null,
    segmentId: given.segmentId ?? given.segment_id ?? null,
    isSubscribedOnly: given.subscribedOnly || given.subscribed_only,
  }))

const download = route({
  name: 'export-contacts',
  summary: 'Export contacts as CSV: of an audience, of a segment, or all',
  description: 'Cells that a spreadsheet would read as a formula begin with an apostrophe; the import removes it.',
  method: 'GET',
  paths: ['/public/contacts/export'],
  access: { admin: 'contacts:read' },
  query: exportQuery,
  status: 200,
  produces: ['text/csv'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query: options }) => {
    const selection = await findSelection(ctx, caller.workspaceId, options)
    if (isRefusal(selection)) return selection
    const lines = exportContacts(ctx.db, selection, ctx.clock.now())
    return {
      body: Readable.from(lines, { highWaterMark: 1 }),
      type: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="contacts.csv"' },
    }
  },
})

export const EXPORT_ROUTES: readonly AnyRoute[] = [download]

/** A requested audience takes precedence over the audience of the segment. */
async function findSelection(
  ctx: ApiContext,
  workspaceId: string,
  options: z.output<typeof exportQuery>,
): Promise<ContactSelection | Refusal> {
  const { audienceId, segmentId, isSubscribedOnly } = options
  const segment = segmentId !== null && isUuid(segmentId) ? await findSegment(ctx.db, workspaceId, segmentId) : null
  if (segmentId !== null && segment === null) return NO_SEGMENT
  const chosenAudienceId = audienceId ?? segment?.audienceId ?? null
  const audience =
    chosenAudienceId !== null && isUuid(chosenAudienceId)
      ? await findAudience(ctx.db, workspaceId, chosenAudienceId)
      : null
  if (chosenAudienceId !== null && audience === null) return NO_AUDIENCE
  return { workspaceId, audienceId: audience?.id ?? null, filter: segment?.filter ?? null, isSubscribedOnly }
}
