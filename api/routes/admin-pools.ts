/**
 * Source pools, and which pool the mail of a workspace or a sending domain leaves from. Waiting mail follows a
 * change, because the pool is read just before a message is sent. Only the command line creates pools and sources
 * (`mailstead egress`): it must run on the machine that has the address.
 */
import { z } from 'zod'
import { findDomain } from '#src/domains/domains.ts'
import { listPools, setEgressPool, type PoolUser } from '#src/egress/pools.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { parseFilter } from '#src/operator/filter.ts'
import { recordAction } from '#src/operator/action-log.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { operatorName } from './admin-queue.ts'

const count = z.int().min(0)
const poolSchema = z
  .object({
    name: z.string(),
    members: z.array(z.object({ source: z.string(), weight: z.int() })),
    workspaces: count.meta({ description: 'workspaces that use it' }),
    domains: count.meta({ description: 'sending domains that use it' }),
  })
  .meta({ id: 'EgressPool' })

const list = route({
  name: 'admin-list-pools',
  summary: 'List the source pools',
  method: 'GET',
  paths: ['/admin/pools'],
  access: 'operator',
  status: 200,
  response: envelope(z.object({ pools: z.array(poolSchema) })),
  errors: [],
  handle: async (ctx) => {
    const pools = await listPools(ctx.db)
    return { body: { success: true, message: `${countText(pools.length, 'pool')}.`, data: { pools } } }
  },
})

const text = z.string().min(1, 'is empty').max(255, 'is too long')

const usePoolRoute = route({
  name: 'admin-use-pool',
  summary: 'Move the mail of a workspace, or of one of its sending domains, to another pool',
  description:
    'Waiting mail follows; mail being sent is not changed. `pool: null` selects the default pool of the region.',
  method: 'POST',
  paths: ['/admin/pools/use'],
  access: 'operator',
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  body: z.object({
    workspace: text.meta({ description: 'the id, key part or name of a workspace' }),
    pool: text.nullable(),
    domain: text.optional().meta({ description: 'only this sending domain of the workspace' }),
  }),
  handle: async (ctx, { body: { workspace, domain, pool: poolName }, headers, address, person }) => {
    const poolUser = await findPoolUser(ctx, workspace, domain)
    if ('error' in poolUser) return poolUser
    const refusal = await setEgressPool(ctx.db, poolUser, poolName)
    if (refusal !== null) return invalid([{ path: 'pool', message: refusal }])
    const subject = { workspace, ...(domain === undefined ? {} : { domain }), pool: poolName ?? 'of its region' }
    await recordAction(
      ctx,
      { verb: 'pool', subject, reason: '', by: operatorName({ headers, address, person }) },
      'done',
    )
    return {
      body: { success: true, message: `Its mail leaves from the pool ${poolName ?? 'of its region'} within seconds.` },
    }
  },
})

async function findPoolUser(
  ctx: ApiContext,
  workspace: string,
  domain: string | undefined,
): Promise<PoolUser | Refusal> {
  const read = await parseFilter({ workspace }, { db: ctx.db, nowMs: 0 })
  if (!read.ok) return invalid(read.details)
  const id = read.filter.workspace ?? ''
  if (domain === undefined) return { table: 'workspaces', id }
  const found = await findDomain(ctx.db, id, domain)
  return found === null
    ? invalid([{ path: 'domain', message: 'the workspace has no such sending domain' }])
    : { table: 'domains', id: found.id }
}

export const ADMIN_POOL_ROUTES: readonly AnyRoute[] = [list, usePoolRoute]
