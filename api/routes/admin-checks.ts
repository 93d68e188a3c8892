/**
 * GET /admin/checks: what `mailstead doctor` finds, from this api process: what is missing, why it matters, and what
 * to do. Checks query DNS and the stores and take seconds, so a process runs them once for all who ask within a
 * minute, and never twice at the same time. They change nothing. A check that hangs fails in time; a store that is
 * away is a finding.
 */
import { z } from 'zod'
import { API_CHECKS } from '#src/doctor/checks.ts'
import { guideUrlOf } from '#src/doctor/guides.ts'
import { neededRecordOf, reasonOf } from '#src/doctor/reasons.ts'
import { runChecks, type NamedResult } from '#src/doctor/run-checks.ts'
import type { ApiContext } from '#api/http/context.ts'
import { flag } from '#api/http/boolean-field.ts'
import { envelope, timestamp, translation } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

const FRESH_MS = 60_000
/** The api answers requests beside it. */
const AT_ONCE = 4

interface CheckRun {
  readonly results: readonly NamedResult[]
  readonly atMs: number
}

interface CheckCache {
  last: CheckRun | null
  running: Promise<CheckRun> | null
}

const CACHES = new WeakMap<ApiContext, CheckCache>()

async function readChecks(ctx: ApiContext, mustBeNew: boolean): Promise<CheckRun> {
  const cache = CACHES.get(ctx) ?? { last: null, running: null }
  CACHES.set(ctx, cache)
  const { last } = cache
  if (!mustBeNew && last !== null && ctx.clock.now() - last.atMs < FRESH_MS) return last
  cache.running ??= run(ctx).finally(() => (cache.running = null))
  return (cache.last = await cache.running)
}

async function run({ config, db, clock }: ApiContext): Promise<CheckRun> {
  const access = await db.query('SELECT 1').then(
    () => ({ db, databaseError: '' }),
    (error: unknown) => ({ db: null, databaseError: error instanceof Error ? error.message : String(error) }),
  )
  return {
    results: await runChecks(API_CHECKS, { config, redisUrl: config.redisUrl, ...access }, AT_ONCE),
    atMs: clock.now(),
  }
}

const checkSchema = z
  .object({
    name: z.string(),
    status: z.enum(['ok', 'warning', 'failed', 'skipped']).meta({ description: 'skipped: not applicable, or unknown' }),
    detail: z.string().meta({ description: 'what was found' }),
    why: z.string().meta({ description: 'why it matters' }),
    detail_translations: z
      .array(translation)
      .meta({ description: 'of the sentences of the detail, in their order; empty: there are none' }),
    todo: z.string().meta({ description: 'what to do; empty if nothing is wrong' }),
    todo_translations: z.array(translation).meta({ description: 'of the sentences of what to do' }),
    record: z
      .object({ type: z.enum(['MX', 'TXT']), name: z.string(), value: z.string() })
      .nullable()
      .meta({ description: 'the DNS record that repairs it, if one does' }),
    guide_url: z.string().meta({ description: 'the section that explains it' }),
  })
  .meta({ id: 'InstallationCheck' })

const list = route({
  name: 'admin-list-checks',
  summary: 'Check this installation: what is missing, why it matters, and what to do',
  description:
    'The checks of `mailstead doctor`, from the machine of the api, without those that need the master key or the ' +
    'outbound role. They take some seconds; a result of the last minute is returned unless `refresh` is true. ' +
    'The topic `checks` of admin-stream-changes says when the findings of the worker changed.',
  method: 'GET',
  paths: ['/admin/checks'],
  access: 'operator',
  query: z.object({ refresh: flag.meta({ description: 'true: check again now' }) }),
  status: 200,
  response: envelope(
    z.object({
      checks: z.array(checkSchema),
      checked_at: timestamp.meta({ description: 'when the checks were run' }),
      failed: z.int().min(0).meta({ description: 'how many checks failed' }),
      warnings: z.int().min(0).meta({ description: 'how many have a warning' }),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query }) => {
    const { results, atMs } = await readChecks(ctx, query.refresh)
    const count = (status: NamedResult['status']): number => results.filter((one) => one.status === status).length
    const [failed, warnings] = [count('failed'), count('warning')]
    const data = {
      checks: results.map((one) => present(ctx, one)),
      checked_at: new Date(atMs).toISOString(),
      failed,
      warnings,
    }
    return { body: { success: true, message: `${failed} failed, ${warnings} with a warning.`, data } }
  },
})

function present(
  { config }: ApiContext,
  { name, status, detail, todo, sentences }: NamedResult,
): Record<string, unknown> {
  const isWrong = status === 'failed' || status === 'warning'
  return {
    name,
    status,
    detail,
    detail_translations: sentences?.detail ?? [],
    why: reasonOf(name),
    todo,
    todo_translations: sentences?.todo ?? [],
    record: isWrong ? neededRecordOf(name, config) : null,
    guide_url: guideUrlOf(name, config.publicUrl),
  }
}

export const ADMIN_CHECK_ROUTES: readonly AnyRoute[] = [list]
