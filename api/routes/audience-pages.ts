/**
 * Pages of a workspace's audiences, as the JSON text of the response. Requests for the same page that arrive
 * together share one query and one serialisation. A request always joins the next query, never one that is running,
 * so that no response is older than its request.
 */
import { z } from 'zod'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { listAudiences, type Audience, type AudienceQuery } from '#src/contacts/audiences.ts'
import type { Context } from '#src/context.ts'
import { mapPage } from '#src/stores/page.ts'
import type { ListPage } from '#api/http/list-cursor.ts'
import { pageData } from '#api/http/paging.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'

/** Resolves to the JSON of the response. */
export type AudiencePages = (workspaceId: string, listing: AudienceListing) => Promise<string>

export type AudienceListing = AudienceQuery & ListPage

interface PageRequest {
  readonly key: string
  readonly workspaceId: string
  readonly listing: AudienceListing
}

type AudiencePageDeps = Pick<Context, 'db' | 'config'>

export function createAudiencePages(deps: AudiencePageDeps): AudiencePages {
  const batcher = createBatcher((requests: PageRequest[]) => renderPages(deps, requests), { max: 500, concurrency: 2 })
  return (workspaceId, listing) => {
    const { page, limit, sort, direction, at } = listing
    const key = JSON.stringify([workspaceId, page, limit, sort, direction, at ?? String(at)])
    return batcher.add({ key, workspaceId, listing })
  }
}

/** Renders each distinct page once. */
async function renderPages(deps: AudiencePageDeps, requests: readonly PageRequest[]): Promise<string[]> {
  const distinct = [...new Map(requests.map((request) => [request.key, request])).values()]
  const pages = new Map(
    await Promise.all(distinct.map(async (request) => [request.key, await renderPage(deps, request)] as const)),
  )
  return requests.map(({ key }) => pages.get(key) ?? '')
}

async function renderPage({ db, config }: AudiencePageDeps, { workspaceId, listing }: PageRequest): Promise<string> {
  const found = await listAudiences(db, workspaceId, listing)
  const data = pageData(
    'audiences',
    mapPage(found, (audience) => presentAudience(config, audience)),
    listing,
  )
  return JSON.stringify({ success: true, message: `${countText(found.total, 'audience')}.`, data })
}

const count = z.int().min(0)
const audienceSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    contactCount: count,
    contact_count: count,
    subscribeUrl: z.url().meta({ description: 'the public signup form' }),
    double_opt_in: z.boolean().meta({ description: 'subscribers of the form confirm by a link in a mail' }),
    createdAt: timestamp,
    created_at: timestamp,
    updatedAt: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Audience' })

export const audienceResponse = envelope(audienceSchema).meta({ id: 'AudienceAnswer' })
export const audiencesResponse = pagedList('audiences', audienceSchema)

/** The fields of both variants of the specification. */
export function presentAudience(
  { subscribeBaseUrl }: Pick<Context['config'], 'subscribeBaseUrl'>,
  found: Audience,
): z.output<typeof audienceSchema> {
  const [createdAt, updatedAt] = [found.createdAt.toISOString(), found.updatedAt.toISOString()]
  return {
    id: found.id,
    name: found.name,
    description: found.description,
    contactCount: found.contactCount,
    contact_count: found.contactCount,
    subscribeUrl: `${subscribeBaseUrl}/s/${found.subscribeToken}`,
    double_opt_in: found.isDoubleOptIn,
    createdAt,
    created_at: createdAt,
    updatedAt,
    updated_at: updatedAt,
  }
}
