/**
 * The dashboard: its page, its files, and the frame that shows mail. The page is the same at every address of the
 * dashboard (`serveDashboard`); it reads everything from the documented endpoints, with the session of the person.
 */
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { createDashboardFiles } from '#api/http/dashboard-files.ts'
import { route, type AnyRoute, type ApiResponse } from '#api/http/route.ts'

const loadFiles = createDashboardFiles()

const NOT_BUILT = 'The dashboard is not built. Run `npm run build:dashboard` on the server.'

/** The page for an address that no endpoint has; null for programs, and while the dashboard is not built. */
export async function serveDashboard(
  req: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
): Promise<ApiResponse | null> {
  return asksForPage(req) ? ((await loadFiles())?.page() ?? null) : null
}

/** What the address bar and links of browsers send, and neither scripts nor programs. */
function asksForPage({ method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): boolean {
  const { accept = '', 'sec-fetch-dest': destination = 'document' } = headers
  return (
    ['GET', 'HEAD'].includes(method) &&
    !url.startsWith('/api/') &&
    accept.includes('text/html') &&
    destination === 'document'
  )
}

export const DASHBOARD_ROUTES: readonly AnyRoute[] = [
  route({
    name: 'dashboard-asset',
    summary: 'Get a file of the dashboard',
    method: 'GET',
    paths: ['/assets/:name'],
    atRoot: true,
    access: 'public',
    params: z.object({ name: z.string() }),
    status: 200,
    produces: ['text/javascript', 'text/css', 'image/svg+xml'],
    errors: ['NOT_FOUND'],
    handle: async (_ctx, { params, headers }) =>
      (await (await loadFiles())?.asset(params.name, headers)) ??
      refuse('NOT_FOUND', 'There is no such file. Open / for the dashboard.'),
  }),
  route({
    name: 'mail-frame',
    summary: 'Get the document in which the dashboard shows the HTML of a mail',
    method: 'GET',
    paths: ['/mail-frame.html'],
    atRoot: true,
    access: 'public',
    query: z.object({
      images: z.enum(['all']).optional().meta({ description: '`all`: also load images of other servers, by https' }),
    }),
    status: 200,
    produces: ['text/html'],
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    handle: async (_ctx, { query }) =>
      (await loadFiles())?.mailFrame({ loadsImages: query.images === 'all' }) ?? refuse('NOT_FOUND', NOT_BUILT),
  }),
]
