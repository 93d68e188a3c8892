/** `mailstead egress source`: the local addresses that mail is sent from. */
import { choose, type CliActions, type CommandCall, UsageError } from '#bin/cli/call.ts'
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

export const SOURCE_ACTIONS: CliActions = {
  add: {
    summary: 'add a sending IP',
    examples: ['source add out1 --address 192.0.2.10 --ehlo out1.example.net --warm-up'],
    usage:
      `add NAME --address IP --ehlo HOST [--region ${REGION_NAMES.join('|')}] ` +
      '[--pool NAME] [--weight N] [--warm-up]',
    options: ['address', 'ehlo', 'region', 'pool', 'weight'],
    flags: ['warm-up'],
    arguments: [1, 1],
    run: (call) => {
      const order = {
        name: call.argument(0),
        address: call.required('address'),
        ehloName: call.required('ehlo').toLowerCase(),
        region: readRegion(call.option('region')),
        pool: call.option('pool'),
        weight: readWeight(call),
        isWarmingUp: call.has('warm-up'),
      }
      return withContext(call.io, async (ctx) => {
        const added = await addSource(ctx, order)
        if (added.kind === 'refused')
          return call.fail(`The source is not added: ${added.reason}.`, 'See mailstead egress source list.')
        const pools = added.source.pools.map(({ pool }) => pool).join(', ')
        const when =
          `It sends as soon as an outbound machine has the address ${order.address}; ` +
          'see mailstead egress source list.'
        return call.respond(`${order.name} is added to ${pools}. ${when}`, jsonOf(added.source))
      })
    },
  },
  list: {
    summary: 'list the sending IPs and their problems',
    examples: ['source list'],
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
          problemText(findings.get(one.id) ?? []),
        ])
        const table = tableText(['NAME', 'ADDRESS', 'EHLO', 'STATE', 'POOLS', 'PROBLEMS'], rows)
        const text = rows.length === 0 ? 'No sources exist: the system chooses the address.' : table
        return call.respond(
          text,
          sources.map((one) => jsonOf(one, findings.get(one.id) ?? [])),
        )
      }),
  },
  pause: {
    summary: 'send nothing from an address',
    examples: ['source pause out1'],
    usage: 'pause NAME',
    arguments: [1, 1],
    run: (call) =>
      change(call, pauseSource, (name) => `${name} is paused. To resume: mailstead egress source resume ${name}`),
  },
  resume: {
    summary: 'send from a paused address again',
    examples: ['source resume out1'],
    usage: 'resume NAME',
    arguments: [1, 1],
    run: (call) =>
      change(
        call,
        ({ db }, name) => resumeSource(db, name),
        (name) => `${name} sends again.`,
      ),
  },
  'warm-up': {
    summary: 'begin or end the warm-up of an address',
    examples: ['source warm-up out1', 'source warm-up out1 --end'],
    usage: 'warm-up NAME [--end]',
    flags: ['end'],
    arguments: [1, 1],
    run: (call) => {
      const isOn = !call.has('end')
      const what = isOn ? 'warms up, from the first step.' : 'is warmed up: it sends without a daily limit.'
      return change(
        call,
        (ctx, name) => setWarmUp(ctx, name, isOn),
        (name) => `${name} ${what}`,
      )
    },
  },
  remove: {
    summary: 'remove a sending IP',
    examples: ['source remove out1'],
    usage: 'remove NAME',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        if (!(await removeSource(db, call.argument(0)))) return noSource(call)
        return call.respond(`${call.argument(0)} is removed. The other sources of its pools send its mail.`, {
          removed: call.argument(0),
        })
      }),
  },
}

type SourceContext = Parameters<typeof pauseSource>[0]

function change(
  call: CommandCall,
  act: (ctx: SourceContext, name: string) => Promise<boolean>,
  text: (name: string) => string,
): Promise<number> {
  const name = call.argument(0)
  return withContext(call.io, async (ctx) => {
    const source = (await act(ctx, name)) ? await findSource(ctx.db, name) : null
    return source === null ? noSource(call) : call.respond(text(name), jsonOf(source))
  })
}

function noSource(call: CommandCall): number {
  return call.fail(`No source ${call.argument(0)} exists.`, 'See mailstead egress source list.')
}

function readRegion(text: string | null): Region {
  return choose('--region', REGION_NAMES, text ?? DEFAULT_REGION)
}

export function readWeight(call: CommandCall): number {
  const weight = Number(call.option('weight') ?? 1)
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000)
    throw new UsageError('--weight must be a number from 1 to 1000')
  return weight
}

function poolsText({ pools }: EgressSource): string {
  return pools.map(({ pool, weight }) => (weight === 1 ? pool : `${pool} (${weight})`)).join(', ')
}

function problemText(findings: readonly StoredFinding[]): string {
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
