import { assert } from 'chai'
import type { SourceChoice } from '#mta/egress/source-choice.ts'
import type { Host, Route } from '#mta/route/route.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { FALLBACK, TRANSPORT_MAP, type ShapingReceiver } from '#src/shaping/shaping-file.ts'
import { claimedOf } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import {
  createSourceSelection,
  type SourceSelectionResult,
  type SourceSelection,
  type SourceSelectionDeps,
} from './source-selection.ts'

const SYSTEM = { source: null, address: null, family: null, ehloName: 'mta.example' }
const OUT1 = { source: 'out1', address: '192.0.2.1', family: 4, ehloName: 'out1.example' } as const
const HOST = { name: 'mx1.a.example', isMapped: false } as unknown as Host
const THROTTLE = throttleWith({ share: { instant: 1, others: 1 } })

interface World {
  readonly hosts?: readonly Host[]
  readonly sources?: readonly string[]
  readonly choice?: SourceChoice
  readonly suspended?: (source: string | null) => boolean
  readonly isUnavailable?: boolean
  readonly domain?: 'ready' | 'gone'
  /** Only some processes have a source of the pool: this one, or others. */
  readonly group?: 'ours' | 'elsewhere' | null
}

function selectionIn({
  hosts = [HOST],
  sources = [],
  choice,
  suspended = () => false,
  isUnavailable = false,
  domain = 'ready',
  group = null,
}: World): SourceSelection {
  const route = { kind: 'hosts', site: 'mx1.a.example', hosts } as unknown as Route
  const deps = {
    pipeline: {
      route: () => Promise.resolve(route),
      sendingDomain: () =>
        Promise.resolve(
          domain === 'ready' ? { kind: 'ready', keys: [], mailFrom: null, pool: 'default' } : { kind: domain },
        ),
      families: () => Promise.resolve(new Set([4])),
      now: () => Date.UTC(2026, 0, 1),
      lifetimeSeconds: null,
    },
    egress: {
      system: SYSTEM,
      hasSources: sources.length > 0,
      sources,
      choose: () => choice ?? { kind: 'endpoints', endpoints: [OUT1], finish: () => undefined },
      isUnavailable: () => isUnavailable,
      groups: { groupOf: (pool: string) => (group === null ? null : pool), mayClaim: () => group === 'ours' },
    },
    throttles: {
      shaping: {
        receivers: [
          { name: TRANSPORT_MAP, domains: [], mx: [] },
          { name: FALLBACK, domains: [], mx: [] },
        ],
      },
      find: () => THROTTLE,
      suspensions: {
        findForSource: (_: unknown, source: string | null) =>
          suspended(source) ? ({ until: new Date() } as ReceiverSuspension) : null,
      },
    },
    accounts: { receiver: () => Promise.resolve({} as ShapingReceiver) },
  } as unknown as SourceSelectionDeps
  return createSourceSelection(deps)
}

async function select(world: World, claimed = claimedOf()): Promise<SourceSelectionResult> {
  const selection = selectionIn(world)
  const destination = await selection.destinationOf(claimed.domain)
  const { system } = destination
  return system === null ? selection.choose(destination, claimed) : { selected: system, attempt: null }
}

describe('source selection', () => {
  it('lets the system choose the address where there are no sources', async () => {
    const selection = await select({})
    assert.deepEqual([selection.selected.source, selection.selected.endpoints], [null, [SYSTEM]])
  })
  it('lets the system choose the address to a host of the transport map', async () => {
    const selection = await select({ sources: ['out1'], hosts: [{ ...HOST, isMapped: true }] })
    assert.strictEqual(selection.selected.source, null)
  })
  it('treats a connected account as its own site', async () => {
    const destination = await selectionIn({ sources: ['out1'] }).destinationOf('account:7')
    assert.deepEqual([destination.site, destination.system?.source], ['account:7', null])
  })
  it('uses the source that egress chooses', async () => {
    const selection = await select({ sources: ['out1'] })
    assert.deepEqual([selection.selected.source, selection.selected.isUsable()], ['out1', true])
  })
  it('stops using a source that the operator removed', async () => {
    const selection = await select({ sources: ['out1'], isUnavailable: true })
    assert.strictEqual(selection.selected.isUsable(), false)
  })
  it('postpones mail that no source may send, with the reason', async () => {
    const choice: SourceChoice = { kind: 'wait', detail: 'no source may send now', untilMs: 5 }
    const selection = await select({ sources: ['out1'], choice })
    assert.deepEqual(selection.attempt?.outcome, {
      kind: 'postponed',
      reason: 'no-source',
      detail: 'no source may send now',
      untilMs: 5,
    })
  })
  it('releases mail whose sources only another process has, and reserves nothing for it', async () => {
    const choice: SourceChoice = { kind: 'wait', detail: 'asked', untilMs: 0 }
    const elsewhere = await select({ sources: ['out1'], choice, group: 'elsewhere' })
    assert.deepEqual([elsewhere.isElsewhere, elsewhere.attempt], [true, null])
    const ours = await select({ sources: ['out1'], group: 'ours' })
    assert.deepEqual([ours.isElsewhere, ours.selected.source], [undefined, 'out1'])
  })
  const NOT_SENT: readonly (readonly [why: string, world: World, claimed: Parameters<typeof claimedOf>[0]])[] = [
    ['its sending domain was removed', { domain: 'gone' }, {}],
    ['its hosts are not known', { hosts: [] }, {}],
    ['its address is suppressed', {}, { suppression: { cause: 'a hard bounce', kind: 'bounce' } }],
  ]
  for (const [why, world, fields] of NOT_SENT) {
    it(`reserves no warm-up allowance for mail that is not to be sent: ${why}`, async () => {
      const choose = { kind: 'wait', detail: 'asked', untilMs: 0 } as const
      const selection = await select({ sources: ['out1'], choice: choose, ...world }, claimedOf(fields))
      assert.deepEqual(selection.selected.endpoints, [])
    })
  }
  it('reports when the receiver has suspended all sources', async () => {
    const some = selectionIn({ sources: ['a', 'b'], suspended: (source) => source === 'a' })
    const all = selectionIn({ sources: ['a', 'b'], suspended: (source) => source === 'a' || source === 'b' })
    assert.strictEqual(some.allSuspended(await some.destinationOf('a.example')), null)
    assert.deepEqual(all.allSuspended(await all.destinationOf('a.example')), ['a', 'b'])
  })
})
