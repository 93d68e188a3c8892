/** `mailstead egress source`: the addresses that mail leaves from. */
import { type Actions, type Call, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { DEFAULT_REGION, REGION_NAMES, type Region } from '#config/regions.ts'
import { listFindings, type StoredFinding } from '#src/egress/check-store.ts'
import {
  addSource,
  findSource,
  listSources,
  pauseSource,
  removeSource,
  resumeSource,
  setWarmUp,
  type EgressSource,
} from '#src/egress/sources.ts'

export const SOURCE_ACTIONS: Actions = {
  add: {
    usage: `add NAME --address IP --ehlo HOST [--region ${REGION_NAMES.join('|')}] [--pool NAME] [--weight N] [--warm-up]`,
    options: ['address', 'ehlo', 'region', 'pool', 'weight'],
    flags: ['warm-up'],
    words: [1, 1],
    run: (call) => {
      const order = {
        name: call.word(0),
        address: call.required('address'),
        ehloName: call.required('ehlo').toLowerCase(),
        region: readRegion(call.option('region')),
        pool: call.option('pool'),
        weight: readWeight(call),
        isWarmingUp: call.has('warm-up'),
      }
      return withContext(call.io, async (ctx) => {
        const added = await addSource(ctx, order)
        if (added.kind === 'refused') return call.fail(`It is not added: ${added.reason}.`)
        const pools = added.source.pools.map(({ pool }) => pool).join(', ')
        const when = `It sends as soon as a machine that sends has ${order.address}; see mailstead egress source list.`
        return call.answer(`${order.name} is added to ${pools}. ${when}`, jsonOf(added.source))
      })
    },
  },
  list: {
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const [sources, findings] = [await listSources(db), await listFindings(db)]
        const rows = sources.map((one) => [
          one.name,
          one.address,
          one.ehloName,
          one.state,
          poolsText(one),
          troubleText(findings.get(one.id) ?? []),
        ])
        const table = tableText(['NAME', 'ADDRESS', 'EHLO', 'STATE', 'POOLS', 'TROUBLE'], rows)
        const text = rows.length === 0 ? 'There is no source: the system chooses the address.' : table
        return call.answer(
          text,
          sources.map((one) => jsonOf(one, findings.get(one.id) ?? [])),
        )
      }),
  },
  pause: {
    usage: 'pause NAME',
    words: [1, 1],
    run: (call) =>
      change(call, pauseSource, (name) => `${name} sends no more until: mailstead egress source resume ${name}`),
  },
  resume: {
    usage: 'resume NAME',
    words: [1, 1],
    run: (call) =>
      change(
        call,
        ({ db }, name) => resumeSource(db, name),
        (name) => `${name} sends again.`,
      ),
  },
  'warm-up': {
    usage: 'warm-up NAME [--end]',
    flags: ['end'],
    words: [1, 1],
    run: (call) => {
      const isOn = !call.has('end')
      const what = isOn ? 'warms up, from the first step.' : 'is warm: it sends as much as there is.'
      return change(
        call,
        (ctx, name) => setWarmUp(ctx, name, isOn),
        (name) => `${name} ${what}`,
      )
    },
  },
  remove: {
    usage: 'remove NAME',
    words: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        if (!(await removeSource(db, call.word(0)))) return noSource(call)
        return call.answer(`${call.word(0)} is removed; its mail goes by the others of its pools.`, {
          removed: call.word(0),
        })
      }),
  },
}

type Means = Parameters<typeof pauseSource>[0]

function change(
  call: Call,
  act: (ctx: Means, name: string) => Promise<boolean>,
  text: (name: string) => string,
): Promise<number> {
  const name = call.word(0)
  return withContext(call.io, async (ctx) => {
    const source = (await act(ctx, name)) ? await findSource(ctx.db, name) : null
    return source === null ? noSource(call) : call.answer(text(name), jsonOf(source))
  })
}

function noSource(call: Call): number {
  return call.fail(`There is no source ${call.word(0)}; mailstead egress source list shows all.`)
}

function readRegion(text: string | null): Region {
  const region = REGION_NAMES.find((one) => one === (text ?? DEFAULT_REGION))
  if (region === undefined) throw new UsageError(`--region is one of ${REGION_NAMES.join(', ')}`)
  return region
}

export function readWeight(call: Call): number {
  const weight = Number(call.option('weight') ?? 1)
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000)
    throw new UsageError('--weight takes a number from 1 to 1000')
  return weight
}

function poolsText({ pools }: EgressSource): string {
  return pools.map(({ pool, weight }) => (weight === 1 ? pool : `${pool} (${weight})`)).join(', ')
}

function troubleText(findings: readonly StoredFinding[]): string {
  return findings
    .filter(({ status }) => status === 'failed' || status === 'warning')
    .map(({ detail }) => detail)
    .join('; ')
}

function jsonOf(source: EgressSource, findings: readonly StoredFinding[] = []): Record<string, unknown> {
  const { id, name, address, ehloName, region, state, warmingSince, goneSince, machine, createdAt, pools } = source
  return {
    id,
    name,
    address,
    ehlo_name: ehloName,
    region,
    state,
    warming_since: warmingSince,
    gone_since: goneSince,
    machine,
    created_at: createdAt,
    pools,
    checks: findings.map(({ checkedAt, ...finding }) => ({ ...finding, checked_at: checkedAt })),
  }
}
