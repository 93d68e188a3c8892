/**
 * The pools of egress sources, and which of them a workspace or a domain leaves by. What waits follows: the pool is looked up when a
 * message is about to go. Making pools and sources is the command line's (`mailstead egress`): it needs the machine that has the address.
 */
import { z } from 'zod'
import { findDomain } from '#src/domains/domains.ts'
import { listPools, usePool, type PoolUser } from '#src/egress/pools.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { readFilter } from '#src/operator/filter.ts'
import { recordAction } from '#src/operator/audit-log.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, plainAnswer } from '#api/http/answer-shapes.ts'
import { operatorName } from './admin-queue.ts'

const count = z.int().min(0)
const pool = z
  .object({
    name: z.string(),
    members: z.array(z.object({ source: z.string(), weight: z.int() })),
    workspaces: count.meta({ description: 'that were given it' }),
    domains: count,
  })
  .meta({ id: 'EgressPool' })

const list = route({
  name: 'admin-list-pools',
  summary: 'The pools that mail leaves by',
  method: 'GET',
  paths: ['/admin/pools'],
  access: 'operator',
  status: 200,
  answer: enveloped(z.object({ pools: z.array(pool) })),
  errors: [],
  handle: async (ctx) => {
    const pools = await listPools(ctx.db)
    return { body: { success: true, message: `${pools.length} pools.`, data: { pools } } }
  },
})

const text = z.string().min(1, 'is empty').max(255, 'is too long')

const move = route({
  name: 'admin-use-pool',
  summary: 'Move the mail of a workspace, or of one of its sending domains, to another pool',
  description:
    'Mail that waits follows; what is being sent goes on. `pool: null` gives it back to the pool of its region.',
  method: 'POST',
  paths: ['/admin/pools/use'],
  access: 'operator',
  status: 200,
  answer: plainAnswer,
  errors: ['VALIDATION_ERROR'],
  body: z.object({
    workspace: text.meta({ description: 'its id, key part or name' }),
    pool: text.nullable(),
    domain: text.optional().meta({ description: 'only this sending domain of it' }),
  }),
  handle: async (ctx, { body: { workspace, domain, pool: name }, headers, address }) => {
    const user = await findUser(ctx, workspace, domain)
    if ('error' in user) return user
    const refusal = await usePool(ctx.db, user, name)
    if (refusal !== null) return invalid([{ path: 'pool', message: refusal }])
    const subject = { workspace, ...(domain === undefined ? {} : { domain }), pool: name ?? 'of its region' }
    await recordAction(ctx, { verb: 'pool', subject, reason: '', by: operatorName(headers, address) }, 'done')
    return { body: { success: true, message: `It leaves by ${name ?? 'the pool of its region'}, within seconds.` } }
  },
})

async function findUser(ctx: ApiContext, workspace: string, domain: string | undefined): Promise<PoolUser | Refusal> {
  const read = await readFilter({ workspace }, { db: ctx.db, nowMs: 0 })
  if (!read.ok) return invalid(read.details)
  const id = read.filter.workspace ?? ''
  if (domain === undefined) return { table: 'workspaces', id }
  const found = await findDomain(ctx.db, id, domain)
  return found === null
    ? invalid([{ path: 'domain', message: 'the workspace has no such sending domain' }])
    : { table: 'domains', id: found.id }
}

export const ADMIN_POOL_ROUTES: readonly AnyRoute[] = [list, move]
