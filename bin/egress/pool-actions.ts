/** `mailstead egress pool`: pools of sources, and the workspaces and domains that use them. */
import type { CliActions, CommandCall } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { REGIONS } from '#config/regions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { findDomain } from '#src/domains/domains.ts'
import {
  addPool,
  addToPool,
  removeFromPool,
  listPools,
  type PoolUser,
  removePool,
  setEgressPool,
} from '#src/egress/pools.ts'
import { readWeight } from './source-actions.ts'

export const POOL_ACTIONS: CliActions = {
  add: {
    summary: 'create a pool',
    examples: ['pool add newsletters'],
    usage: 'add NAME',
    arguments: [1, 1],
    run: (call) => {
      const name = call.argument(0)
      return change(
        call,
        (ctx) => addPool(ctx, name),
        `Pool ${name} is created. Add sources with mailstead egress pool join.`,
      )
    },
  },
  list: {
    summary: 'list the pools and who uses them',
    examples: ['pool list'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const pools = await listPools(db)
        const rows = pools.map(({ name, members, workspaces, domains }) => [
          name,
          regionsOf(name).join(', '),
          String(workspaces),
          String(domains),
          members.map(({ source, weight }) => `${source} (${weight})`).join(', '),
        ])
        const table = tableText(['NAME', 'REGIONS', 'WORKSPACES', 'DOMAINS', 'SOURCES (WEIGHT)'], rows)
        const text = rows.length === 0 ? 'No pools exist: the system chooses the address.' : table
        return call.respond(
          text,
          pools.map((pool) => ({ ...pool, regions: regionsOf(pool.name) })),
        )
      }),
  },
  join: {
    summary: 'add a sending IP to a pool',
    examples: ['pool join newsletters out1 --weight 2'],
    usage: 'join POOL SOURCE [--weight N]',
    options: ['weight'],
    arguments: [2, 2],
    run: (call) => {
      const [pool, source, weight] = [call.argument(0), call.argument(1), readWeight(call)]
      return change(
        call,
        ({ db }) => addToPool(db, pool, { source, weight }),
        `${source} is in ${pool} with weight ${weight}.`,
      )
    },
  },
  leave: {
    summary: 'remove a sending IP from a pool',
    examples: ['pool leave newsletters out1'],
    usage: 'leave POOL SOURCE',
    arguments: [2, 2],
    run: (call) =>
      change(
        call,
        ({ db }) => removeFromPool(db, call.argument(0), call.argument(1)),
        `${call.argument(1)} is removed from ${call.argument(0)}.`,
      ),
  },
  use: {
    summary: 'choose the pool of a workspace or of a domain',
    examples: ['pool use newsletters --workspace Acme', 'pool use none --workspace Acme --domain example.com'],
    usage: 'use POOL|none --workspace ID [--domain D]',
    options: ['workspace', 'domain'],
    arguments: [1, 1],
    run: (call) => {
      const pool = call.argument(0) === 'none' ? null : call.argument(0)
      const workspace = call.required('workspace')
      const whose = call.option('domain') ?? workspace
      const text =
        pool === null
          ? `Mail of ${whose} uses the pool of its region.`
          : `Mail of ${whose} uses the pool ${pool} within seconds.`
      return change(
        call,
        async ({ db }) => {
          const user = await findPoolUser(db, workspace, call.option('domain'))
          return user === null ? `the workspace has no domain ${whose}` : setEgressPool(db, user, pool)
        },
        text,
      )
    },
  },
  remove: {
    summary: 'remove a pool',
    examples: ['pool remove newsletters'],
    usage: 'remove NAME',
    arguments: [1, 1],
    run: (call) =>
      change(
        call,
        ({ db }) => removePool(db, call.argument(0)),
        `Pool ${call.argument(0)} is removed. Its sources remain.`,
      ),
  },
}

async function findPoolUser(db: Queryable, workspaceText: string, domainText: string | null): Promise<PoolUser | null> {
  const workspace = await requireWorkspace(db, workspaceText)
  if (domainText === null) return { table: 'workspaces', id: workspace.id }
  const domain = await findDomain(db, workspace.id, domainText)
  return domain === null ? null : { table: 'domains', id: domain.id }
}

type PoolContext = Parameters<typeof addPool>[0]

function change(call: CommandCall, act: (ctx: PoolContext) => Promise<string | null>, text: string): Promise<number> {
  return withContext(call.io, async (ctx) => {
    const reason = await act(ctx)
    if (reason !== null) return call.fail(`Nothing changed: ${reason}.`, 'See mailstead egress pool list.')
    return call.respond(text, { done: text })
  })
}

function regionsOf(pool: string): string[] {
  return Object.entries(REGIONS)
    .filter(([, row]) => row.pool === pool)
    .map(([name]) => name)
}
