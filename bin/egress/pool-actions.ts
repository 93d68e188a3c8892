/** `mailstead egress pool`: sets of sources, and who leaves by them. */
import { type Actions, type Call } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { workspaceOf } from '#bin/cli/find-workspace.ts'
import { REGIONS } from '#config/regions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { findDomain } from '#src/domains/domains.ts'
import { addPool, addToPool, removeFromPool, listPools, type PoolUser, removePool, setEgressPool } from '#src/egress/pools.ts'
import { readWeight } from './source-actions.ts'

export const POOL_ACTIONS: Actions = {
  add: {
    usage: 'add NAME',
    words: [1, 1],
    run: (call) => {
      const name = call.word(0)
      return change(
        call,
        (ctx) => addPool(ctx, name),
        `Pool ${name} is made; put sources into it with mailstead egress pool join.`,
      )
    },
  },
  list: {
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
        const text = rows.length === 0 ? 'There is no pool: the system chooses the address.' : table
        return call.answer(
          text,
          pools.map((pool) => ({ ...pool, regions: regionsOf(pool.name) })),
        )
      }),
  },
  join: {
    usage: 'join POOL SOURCE [--weight N]',
    options: ['weight'],
    words: [2, 2],
    run: (call) => {
      const [pool, source, weight] = [call.word(0), call.word(1), readWeight(call)]
      return change(
        call,
        ({ db }) => addToPool(db, pool, { source, weight }),
        `${source} is in ${pool} with weight ${weight}.`,
      )
    },
  },
  leave: {
    usage: 'leave POOL SOURCE',
    words: [2, 2],
    run: (call) =>
      change(
        call,
        ({ db }) => removeFromPool(db, call.word(0), call.word(1)),
        `${call.word(1)} is no more in ${call.word(0)}.`,
      ),
  },
  use: {
    usage: 'use POOL|none --workspace ID [--domain D]',
    options: ['workspace', 'domain'],
    words: [1, 1],
    run: (call) => {
      const pool = call.word(0) === 'none' ? null : call.word(0)
      const workspace = call.required('workspace')
      const whose = call.option('domain') ?? workspace
      const text =
        pool === null ? `${whose} leaves by the pool of its region.` : `${whose} leaves by ${pool}, within seconds.`
      return change(
        call,
        async ({ db }) => {
          const user = await userOf(db, workspace, call.option('domain'))
          return user === null ? `the workspace has no domain ${whose}` : setEgressPool(db, user, pool)
        },
        text,
      )
    },
  },
  remove: {
    usage: 'remove NAME',
    words: [1, 1],
    run: (call) =>
      change(call, ({ db }) => removePool(db, call.word(0)), `Pool ${call.word(0)} is removed; its sources stay.`),
  },
}

async function userOf(db: Queryable, workspaceText: string, domainText: string | null): Promise<PoolUser | null> {
  const workspace = await workspaceOf(db, workspaceText)
  if (domainText === null) return { table: 'workspaces', id: workspace.id }
  const domain = await findDomain(db, workspace.id, domainText)
  return domain === null ? null : { table: 'domains', id: domain.id }
}

type Means = Parameters<typeof addPool>[0]

function change(call: Call, act: (ctx: Means) => Promise<string | null>, text: string): Promise<number> {
  return withContext(call.io, async (ctx) => {
    const reason = await act(ctx)
    if (reason !== null) return call.fail(`Nothing is changed: ${reason}.`)
    return call.answer(text, { done: text })
  })
}

function regionsOf(pool: string): string[] {
  return Object.entries(REGIONS)
    .filter(([, row]) => row.pool === pool)
    .map(([name]) => name)
}
