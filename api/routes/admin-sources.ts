/**
 * Egress sources: the local addresses that mail is sent from, their warm-up, and the pools they belong to. The command
 * line has the same: `mailstead egress`. An added source counts as gone until an outbound machine has its address, so
 * it may be added from anywhere. Changes take effect within seconds.
 */
import { z } from 'zod'
import { DEFAULT_REGION, REGION_NAMES } from '#config/regions.ts'
import { listFindings, type StoredFinding } from '#src/egress/check-store.ts'
import { findSourceCheckTranslation } from '#src/egress/source-check-texts.ts'
import { addPool, addToPool, removeFromPool, removePool } from '#src/egress/pools.ts'
import {
  addSource,
  findSource,
  listSources,
  pauseSource,
  removeSource,
  resumeSource,
  setWarmUp,
  SOURCE_STATES,
  type EgressSource,
} from '#src/egress/sources.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope, plainResponse, timestamp, translation } from '#api/http/response-schemas.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const text = z.string().min(1, 'is empty').max(255, 'is too long')
const byName = z.object({ name: text.meta({ description: 'the name of the source or pool' }) })
const weight = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1000, 'must be at most 1000')
  .default(1)
  .meta({ description: 'how much of the mail of the pool it sends, beside the others' })

const checkSchema = z.object({
  check: z.string().meta({ description: 'what was checked, such as its reverse DNS name or a block list' }),
  status: z.string().meta({ description: 'ok, warning, failed or skipped' }),
  detail: z.string().meta({ description: 'what the check found' }),
  detail_translation: translation.nullable().meta({ description: 'of what it found; null: there is none' }),
  todo: z.string().nullable().meta({ description: 'what to do about it; null if nothing' }),
  todo_translation: translation.nullable().meta({ description: 'of what to do; null: there is none' }),
  since: timestamp.meta({ description: 'since when the check has this status' }),
  checked_at: timestamp.meta({ description: 'when it was checked last' }),
})
const sourceSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    address: z.string().meta({ description: 'the IP address' }),
    ehlo_name: z.string().meta({ description: 'the name that it says to receivers' }),
    region: z.enum(REGION_NAMES),
    state: z.enum(Object.keys(SOURCE_STATES) as [keyof typeof SOURCE_STATES, ...(keyof typeof SOURCE_STATES)[]]).meta({
      description: Object.entries(SOURCE_STATES)
        .map(([name, what]) => `\`${name}\`: ${what}`)
        .join('; '),
    }),
    warming_since: timestamp.nullable().meta({ description: 'when its warm-up began; null: it is warmed up' }),
    gone_since: timestamp.nullable().meta({ description: 'since when no machine has the address; null: one has it' }),
    machine: z.string().nullable().meta({ description: 'the machine where the address was found last' }),
    created_at: timestamp,
    pools: z
      .array(z.object({ pool: z.string().meta({ description: 'the name of the pool' }), weight: z.int() }))
      .meta({ description: 'the pools it belongs to' }),
    checks: z.array(checkSchema).meta({ description: 'the last result of each check of the address' }),
  })
  .meta({ id: 'EgressSource' })
const sourceResponse = envelope(sourceSchema)
const NO_SOURCE = refuse('NOT_FOUND', 'There is no such source. List them with admin-list-sources.')

function present(source: EgressSource, findings: readonly StoredFinding[]): Record<string, unknown> {
  const { id, name, address, ehloName, region, state, warmingSince, goneSince, machine, createdAt, pools } = source
  return {
    id,
    name,
    address,
    ehlo_name: ehloName,
    region,
    state,
    warming_since: warmingSince?.toISOString() ?? null,
    gone_since: goneSince?.toISOString() ?? null,
    machine,
    created_at: createdAt.toISOString(),
    pools: pools.map(({ pool, weight: share }) => ({ pool, weight: share })),
    checks: findings.map(({ check, status, detail, todo, since, checkedAt }) => ({
      check,
      status,
      detail,
      detail_translation: findSourceCheckTranslation(detail),
      todo: todo ?? null,
      todo_translation: findSourceCheckTranslation(todo),
      since: since.toISOString(),
      checked_at: checkedAt.toISOString(),
    })),
  }
}

async function respondWithSource({ db }: ApiContext, name: string, message: string): Promise<ApiResponse | Refusal> {
  const source = await findSource(db, name)
  if (source === null) return NO_SOURCE
  const findings = (await listFindings(db)).get(source.id) ?? []
  return { body: { success: true, message, data: present(source, findings) } }
}

const list = route({
  name: 'admin-list-sources',
  summary: 'List the sending addresses with their state, warm-up and checks',
  method: 'GET',
  paths: ['/admin/sources'],
  access: 'operator',
  status: 200,
  response: envelope(z.object({ sources: z.array(sourceSchema).meta({ description: 'the sending addresses' }) })),
  errors: [],
  handle: async ({ db }) => {
    const [sources, findings] = [await listSources(db), await listFindings(db)]
    const data = { sources: sources.map((one) => present(one, findings.get(one.id) ?? [])) }
    return { body: { success: true, message: `${countText(sources.length, 'source')}.`, data } }
  },
})

const addBody = z
  .object({
    name: text,
    address: text.meta({ description: 'the IP address' }),
    ehlo_name: text
      .transform((name) => name.toLowerCase())
      .meta({ description: 'the name that it says to receivers; it must resolve to the address' }),
    region: z.enum(REGION_NAMES).default(DEFAULT_REGION),
    pool: text.optional().meta({ description: 'created if it does not exist; by default the pool of the region' }),
    weight,
    warm_up: z.boolean().default(false).meta({ description: 'true: it sends little at first, and more each day' }),
  })
  .meta({ examples: [{ name: 'out1', address: '192.0.2.10', ehlo_name: 'out1.example.net', warm_up: true }] })

const add = route({
  name: 'admin-add-source',
  summary: 'Add a sending address; it sends as soon as an outbound machine has it',
  method: 'POST',
  paths: ['/admin/sources'],
  access: 'operator',
  body: addBody,
  status: 201,
  response: sourceResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { body }) => {
    const { name, address, ehlo_name: ehloName, region, pool = null, weight: share, warm_up: isWarmingUp } = body
    const added = await addSource(ctx, { name, address, ehloName, region, pool, weight: share, isWarmingUp })
    if (added.kind === 'refused') return invalid([{ path: '', message: added.reason }])
    return respondWithSource(ctx, name, `${name} is added.`)
  },
})

type SourceChange = (ctx: ApiContext, name: string) => Promise<boolean>

function changeRoute(verb: string, summary: string, change: SourceChange): AnyRoute {
  return route({
    name: `admin-${verb}-source`,
    summary,
    method: 'POST',
    paths: [`/admin/sources/:name/${verb}`],
    access: 'operator',
    params: byName,
    status: 200,
    response: sourceResponse,
    errors: ['NOT_FOUND'],
    handle: async (ctx, { params: { name } }) =>
      (await change(ctx, name)) ? respondWithSource(ctx, name, `${name} is changed.`) : NO_SOURCE,
  })
}

const remove = route({
  name: 'admin-remove-source',
  summary: 'Remove a sending address; the other sources of its pools send its mail',
  method: 'DELETE',
  paths: ['/admin/sources/:name'],
  access: 'operator',
  params: byName,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async ({ db }, { params: { name } }) =>
    (await removeSource(db, name)) ? { body: { success: true, message: `${name} is removed.` } } : NO_SOURCE,
})

const createPool = route({
  name: 'admin-add-pool',
  summary: 'Create a source pool',
  method: 'POST',
  paths: ['/admin/pools'],
  access: 'operator',
  body: z.object({ name: text }).meta({ examples: [{ name: 'newsletters' }] }),
  status: 201,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { body: { name } }) => done(await addPool(ctx, name), 'name', `The pool ${name} is created.`),
})

const join = route({
  name: 'admin-join-pool',
  summary: 'Add a source to a pool, or change its weight there',
  method: 'PUT',
  paths: ['/admin/pools/:name/sources/:source'],
  access: 'operator',
  params: byName.extend({ source: text.meta({ description: 'the name of the source' }) }),
  body: z
    .object({ weight })
    .default({ weight: 1 })
    .meta({ examples: [{ weight: 2 }] }),
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async ({ db }, { params: { name, source }, body }) =>
    done(await addToPool(db, name, { source, weight: body.weight }), 'source', `${source} is in ${name}.`),
})

const leave = route({
  name: 'admin-leave-pool',
  summary: 'Remove a source from a pool',
  method: 'DELETE',
  paths: ['/admin/pools/:name/sources/:source'],
  access: 'operator',
  params: byName.extend({ source: text.meta({ description: 'the name of the source' }) }),
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async ({ db }, { params: { name, source } }) =>
    done(await removeFromPool(db, name, source), 'source', `${source} is removed from ${name}.`),
})

const dropPool = route({
  name: 'admin-remove-pool',
  summary: 'Remove a source pool that nobody uses; its sources remain',
  method: 'DELETE',
  paths: ['/admin/pools/:name'],
  access: 'operator',
  params: byName,
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async ({ db }, { params: { name } }) =>
    done(await removePool(db, name), 'name', `The pool ${name} is removed.`),
})

function done(reason: string | null, path: string, message: string): ApiResponse | Refusal {
  return reason === null ? { body: { success: true, message } } : invalid([{ path, message: reason }])
}

export const ADMIN_SOURCE_ROUTES: readonly AnyRoute[] = [
  list,
  add,
  changeRoute('pause', 'Send nothing from an address', pauseSource),
  changeRoute('resume', 'Send from a paused address again', ({ db }, name) => resumeSource(db, name)),
  changeRoute('begin-warm-up', 'Begin the warm-up of an address, from its first step', (ctx, name) =>
    setWarmUp(ctx, name, true),
  ),
  changeRoute('end-warm-up', 'End the warm-up of an address: it sends without a daily limit', (ctx, name) =>
    setWarmUp(ctx, name, false),
  ),
  remove,
  createPool,
  join,
  leave,
  dropPool,
]
