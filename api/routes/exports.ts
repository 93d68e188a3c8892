/** Contacts as a CSV file: of an audience, of a segment, of both, or all. It is read while it is sent; a client that goes away ends it. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { exportContacts } from '#src/segments/contact-export.ts'
import type { Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { findSegment } from '#src/segments/segments.ts'
import type { Selection } from '#src/segments/selection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/answer.ts'
import { flag } from '#api/http/flag.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { NO_AUDIENCE } from './audiences.ts'
import { NO_SEGMENT } from './segments.ts'

const given = z.string().optional()
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const query = z
  .object({
    audienceId: given,
    audience_id: given.meta(aliasOf('audienceId')),
    segmentId: given,
    segment_id: given.meta(aliasOf('segmentId')),
    subscribedOnly: flag.meta({ description: 'only those who are subscribed to the audience' }),
    subscribed_only: flag.meta(aliasOf('subscribedOnly')),
  })
  .transform((asked) => ({
    audienceId: asked.audienceId ?? asked.audience_id ?? null,
    segmentId: asked.segmentId ?? asked.segment_id ?? null,
    isSubscribedOnly: asked.subscribedOnly || asked.subscribed_only,
  }))

const download = route({
  name: 'export-contacts',
  summary: 'Contacts as CSV: of an audience, of a segment, or all',
  description:
    'Cells that a spreadsheet would take for a formula begin with an apostrophe; the import takes it off again.',
  method: 'GET',
  paths: ['/public/contacts/export'],
  access: { admin: 'contacts:read' },
  query,
  status: 200,
  produces: ['text/csv'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query: asked }) => {
    const selection = await select(ctx, caller.workspaceId, asked)
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

/** The audience that is asked for goes before that of the segment. */
async function select(
  ctx: ApiContext,
  workspaceId: string,
  asked: z.output<typeof query>,
): Promise<Selection | Refusal> {
  const { audienceId, segmentId, isSubscribedOnly } = asked
  const segment = segmentId !== null && isUuid(segmentId) ? await findSegment(ctx.db, workspaceId, segmentId) : null
  if (segmentId !== null && segment === null) return NO_SEGMENT
  const wanted = audienceId ?? segment?.audienceId ?? null
  const audience = wanted !== null && isUuid(wanted) ? await findAudience(ctx.db, workspaceId, wanted) : null
  if (wanted !== null && audience === null) return NO_AUDIENCE
  return { workspaceId, audienceId: audience?.id ?? null, filter: segment?.filter ?? null, isSubscribedOnly }
}
