/** The click map of a workspace: clicks by link, as JSON or CSV. */
import { z } from 'zod'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { COUNTERS } from '#src/statistics/dimensions.ts'
import { type LinkQuery, readLinks } from '#src/statistics/link-report.ts'
import { linksCsv } from '#src/statistics/report-csv.ts'
import type { ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { type ApiResponse, route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'
import { csvResponse, periodFields, readPeriod, type StatisticsRequest, wantsCsv } from './statistics-period.ts'

const count = z.int().min(0)
const linkFields = {
  ...periodFields,
  campaign_id: z.uuid('must be a UUID').optional().meta({ description: 'only the links of this campaign' }),
  template_id: z.uuid('must be a UUID').optional().meta({
    description: 'only the links of mail made from this template, without that of campaigns',
  }),
  limit: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'at least 1')
    .max(1000, 'at most 1000')
    .default(100),
}
const linksSchema = envelope(
  z.object({
    links: z.array(
      z.object({
        url: z.string().nullable().meta({
          description: 'without query and fragment, but with `utm_…` labels; null: links beyond 200 of a day',
        }),
        position: z.int().nullable().meta({
          description: 'the place of the link among those of the campaign or template, from 1; null if it is not in it',
        }),
        clicked: count.meta({ description: COUNTERS.clicked }),
        clicked_unique: count.meta({ description: 'recipients that clicked the link' }),
        clicked_machine: count.meta({ description: COUNTERS.clicked_machine }),
      }),
    ),
  }),
)
const LINKS_DESCRIPTION =
  'The click map: the links that were clicked, the most clicked first. Days are those of UTC, and whole.'

const links = route({
  name: 'get-link-statistics',
  summary: 'Count clicks by link, of a campaign, a template or all mail',
  description: LINKS_DESCRIPTION,
  method: 'GET',
  paths: ['/public/statistics/links'],
  access: { admin: 'statistics:read' },
  query: z.object(linkFields),
  status: 200,
  produces: ['text/csv'],
  response: linksSchema,
  errors: ['VALIDATION_ERROR'],
  handle: (ctx, { caller, query, headers }) =>
    respondLinks(ctx, query, { scope: caller.workspaceId, accept: headers.accept }),
})

const linksOfWorkspace = route({
  name: 'admin-get-link-statistics',
  summary: 'Count clicks by link in the mail of a workspace',
  description: LINKS_DESCRIPTION,
  method: 'GET',
  paths: ['/admin/statistics/links'],
  access: 'operator',
  query: z.object({ ...linkFields, workspace_id: z.uuid('must be a UUID') }),
  status: 200,
  produces: ['text/csv'],
  response: linksSchema,
  errors: ['VALIDATION_ERROR'],
  handle: (ctx, { query, headers }) => respondLinks(ctx, query, { scope: query.workspace_id, accept: headers.accept }),
})

type LinkFields = z.output<z.ZodObject<typeof linkFields>>

async function respondLinks(
  ctx: ApiContext,
  query: LinkFields,
  { scope, accept }: StatisticsRequest,
): Promise<ApiResponse | Refusal> {
  const times = readPeriod(query, 'UTC', ctx.clock.now())
  if (isRefusal(times)) return times
  if (query.campaign_id !== undefined && query.template_id !== undefined)
    return invalid([{ path: 'template_id', message: 'cannot be combined with campaign_id' }])
  const content = contentOf(query)
  const found = await readLinks(ctx.db, { workspaceId: scope, ...times, content, limit: query.limit })
  if (wantsCsv(query.format, accept)) return csvResponse('links', linksCsv(found))
  const shown = found.map(({ clickedUnique, clickedMachine, ...link }) => ({
    ...link,
    clicked_unique: clickedUnique,
    clicked_machine: clickedMachine,
  }))
  return { body: { success: true, message: `${countText(found.length, 'link')}.`, data: { links: shown } } }
}

function contentOf({ campaign_id: campaign, template_id: template }: LinkFields): LinkQuery['content'] {
  if (campaign !== undefined) return { kind: 'campaign', id: campaign.toLowerCase() }
  return template === undefined ? null : { kind: 'template', id: template.toLowerCase() }
}

export const LINK_STATISTICS_ROUTES: readonly AnyRoute[] = [links]
export const ADMIN_LINK_STATISTICS_ROUTES: readonly AnyRoute[] = [linksOfWorkspace]
