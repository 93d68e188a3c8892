import { assert } from 'chai'
import type { Route } from '#mta/route/route.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { attemptOf, claimedOf, deliveryOf, selectedSource } from '#test/support/delivery.ts'
import { deliver } from './deliver.ts'
import type { DeliveryPipeline } from './delivery-pipeline.ts'
import { createMemoryBudget } from './memory-budget.ts'
import type { ClaimedDelivery, SelectedSource, SessionGrant } from './session-grant.ts'

interface World {
  readonly steps: string[]
  deliver(
    claimed?: ClaimedRecipient,
    grant?: Partial<SessionGrant>,
    fields?: Partial<ClaimedDelivery>,
  ): Promise<Attempt | null>
}

function pipelineWith(parts: Partial<Record<keyof DeliveryPipeline, unknown>> = {}): World {
  const steps: string[] = []
  const step =
    <T>(name: string, value: T) =>
    (): Promise<T> => {
      steps.push(name)
      return Promise.resolve(value)
    }
  const pipeline = {
    now: () => Date.UTC(2026, 0, 1),
    lifetimeSeconds: null,
    route: step('route', { kind: 'hosts', site: 'mx1.a.example', hosts: [] } as unknown as Route),
    unreachableReason: () => null,
    tlsPolicy: step('tls policy', { isPending: false }),
    sendingDomain: step('domain', { kind: 'ready', keys: [], mailFrom: null, pool: 'default' }),
    suppression: step('suppression', null),
    contact: step('contact', null),
    texts: step('texts', {}),
    attachments: step('attachments', []),
    planTracking: step('tracking', null),
    compose: step('compose', { head: [], body: Buffer.alloc(0), needsSmtputf8: false }),
    sign: step('sign', Buffer.alloc(0)),
    feedbackFields: () => [],
    returnPath: () => 'bounce@bounces.example',
    transport: { deliver: step('transport', attemptOf()) },
    accounts: { find: step('account', { addresses: [] }), relay: { deliver: step('relay', attemptOf()) } },
    memory: createMemoryBudget(1000),
    ...parts,
  } as unknown as DeliveryPipeline
  return {
    steps,
    deliver: (claimed = claimedOf(), grant = {}, fields = {}) =>
      deliver(
        pipeline,
        { ...deliveryOf(claimed, sourceWith(steps)), ...fields },
        { isStopped: () => false, mayProceed: () => true, ...grant },
      ),
  }
}

/** A source whose throttle records when a delivery enters a session. */
function sourceWith(steps: string[], mayEnter = true): SelectedSource {
  const enter = (): Promise<boolean> => {
    steps.push('enter')
    return Promise.resolve(mayEnter)
  }
  return selectedSource({ throttle: { enter } as unknown as Throttle })
}

const outcomeOf = (attempt: Attempt | null): string =>
  attempt === null
    ? 'none'
    : `${attempt.outcome.kind}${'reason' in attempt.outcome ? ` ${attempt.outcome.reason}` : ''}`

describe('delivery', () => {
  it('prepares a small message before it enters a session', async () => {
    const world = pipelineWith()
    assert.strictEqual(outcomeOf(await world.deliver()), 'delivered')
    assert.deepEqual(world.steps, ['route', 'tls policy', 'domain', 'compose', 'sign', 'enter', 'transport'])
  })
  it('loads large content only when it has a session', async () => {
    const world = pipelineWith()
    await world.deliver(claimedOf({ content: { isLarge: true, size: 900 } }))
    assert.strictEqual(world.steps[0], 'enter')
    assert.ok(world.steps.indexOf('texts') > world.steps.indexOf('enter'))
  })
  it('sends through a connected account without a route, a DKIM signature or a VERP return-path', async () => {
    const world = pipelineWith()
    await world.deliver(claimedOf({ domain: 'account:7' }))
    assert.ok(world.steps.includes('relay') && !world.steps.includes('route') && !world.steps.includes('domain'))
  })
  const WITHOUT_SESSION: readonly (readonly [
    what: string,
    parts: Partial<Record<keyof DeliveryPipeline, unknown>>,
    outcome: string,
  ])[] = [
    [
      'DNS does not answer',
      { route: () => Promise.resolve({ kind: 'unknown', site: 's', text: 'SERVFAIL' }) },
      'deferred dns',
    ],
    [
      'the domain accepts no mail',
      {
        route: () => Promise.resolve({ kind: 'none', site: 's', status: '5.1.10', text: 'null MX', reason: 'null-mx' }),
      },
      'bounced null-mx',
    ],
    ['the site is known to be down', { unreachableReason: () => 'connection refused' }, 'deferred unreachable'],
    [
      'its MTA-STS policy is being fetched',
      { tlsPolicy: () => Promise.resolve({ isPending: true }) },
      'postponed tls-policy',
    ],
    [
      'the sending domain was removed',
      { sendingDomain: () => Promise.resolve({ kind: 'gone' }) },
      'failed domain-gone',
    ],
    [
      'the message cannot be composed',
      { compose: () => Promise.reject(new Error('bad charset')) },
      'failed cannot-compose',
    ],
    [
      'a store is away',
      { sendingDomain: () => Promise.reject(new Error('PostgreSQL is away')) },
      'deferred our-trouble',
    ],
  ]
  for (const [what, parts, outcome] of WITHOUT_SESSION) {
    it(`uses no session when ${what}: ${outcome}`, async () => {
      const world = pipelineWith(parts)
      assert.strictEqual(outcomeOf(await world.deliver()), outcome)
      assert.ok(!world.steps.includes('enter'))
    })
  }
  it('makes no attempt when the throttle refuses it', async () => {
    const world = pipelineWith()
    assert.strictEqual(await world.deliver(claimedOf(), {}, { selected: sourceWith(world.steps, false) }), null)
    assert.ok(!world.steps.includes('transport'))
  })
  const LOST: readonly (readonly [what: string, grant: Partial<SessionGrant>, fields: Partial<SelectedSource>])[] = [
    ['the lease was lost', { mayProceed: () => false }, {}],
    ['the process began to stop', { isStopped: () => true }, {}],
    ['the source was removed', {}, { isUsable: () => false }],
  ]
  for (const [what, grant, fields] of LOST)
    it(`makes no attempt when ${what} while it waited`, async () => {
      const world = pipelineWith()
      const selected = { ...sourceWith(world.steps), ...fields }
      assert.strictEqual(await world.deliver(claimedOf(), grant, { selected }), null)
      assert.ok(world.steps.includes('enter') && !world.steps.includes('transport'))
    })
  it('reads the suppression list again after a long wait for a session', async () => {
    const suppression = (): Promise<object> => Promise.resolve({ cause: 'a complaint', kind: 'complaint' })
    const world = pipelineWith({ suppression })
    assert.strictEqual(
      outcomeOf(await world.deliver(claimedOf(), {}, { heldSinceMs: performance.now() - 3001 })),
      'suppressed suppressed',
    )
    assert.ok(!world.steps.includes('transport'))
  })
  it('releases a recipient without an endpoint', async () => {
    const world = pipelineWith()
    assert.strictEqual(
      await world.deliver(claimedOf(), {}, { selected: { ...sourceWith(world.steps), endpoints: [] } }),
      null,
    )
    assert.ok(!world.steps.includes('transport'))
  })
})
