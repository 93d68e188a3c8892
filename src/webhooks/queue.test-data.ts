/** The webhook queue of one endpoint on a real PostgreSQL, and attempts with each verdict. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createWebhookTestbed, type WebhookTestbed } from '#test/support/webhook-testbed.ts'
import type { AttemptVerdict, WebhookAttempt } from './attempt.ts'
import { claimDeliveries, type ClaimedWebhook, type WebhookClaim } from './claim.ts'
import { findEndpoint, type Endpoint } from './endpoints.ts'
import { createSecretDecryptor } from './secret.ts'

export const OK: AttemptVerdict = { state: 'delivered', nextInMs: null, isGone: false, error: null }
export const LATER: AttemptVerdict = { state: 'pending', nextInMs: 3_600_000, isGone: false, error: 'answered 500' }
export const GONE: AttemptVerdict = {
  state: 'failed',
  nextInMs: null,
  isGone: true,
  error: 'answered 410 Gone: the endpoint is switched off',
}

export function tried(delivery: ClaimedWebhook, verdict: AttemptVerdict, at = Date.now()): WebhookAttempt {
  const record = {
    at: new Date(at),
    url: 'http://127.0.0.1/',
    headers: { a: 'b' },
    body: '{}',
    status: 200,
    response: 'ok',
    durationMs: 3,
  }
  return { delivery, verdict, record, message: null }
}

export interface WebhookQueue {
  readonly testbed: WebhookTestbed
  /** The only endpoint when a test begins. */
  readonly endpoint: Endpoint
  /** How often a claim of this test found abandoned deliveries. */
  readonly abandoned: number
  readonly claim: (total?: number, each?: number, byEndpoint?: ReadonlyMap<string, number>) => Promise<WebhookClaim>
  readonly claimOne: () => Promise<ClaimedWebhook>
  readonly expireLeases: () => Promise<unknown>
  /** The endpoint as it is stored now. */
  readonly reload: () => Promise<Endpoint>
}

/** Adds hooks to the suite: one testbed for all its tests, and empty tables and an endpoint for each. */
export function setUpWebhookQueue(): WebhookQueue {
  let testbed: WebhookTestbed
  let endpoint: Endpoint
  let abandoned = 0
  before(async () => {
    testbed = await createWebhookTestbed()
  })
  after(() => testbed.stop())
  beforeEach(async () => {
    abandoned = 0
    await testbed.ctx.db.query('TRUNCATE webhook_endpoints, webhook_deliveries, webhook_attempts, events CASCADE')
    endpoint = (await testbed.register('http://127.0.0.1/')).endpoint
  })

  const claim: WebhookQueue['claim'] = (total = 100, each = 100, byEndpoint = new Map<string, number>()) =>
    claimDeliveries(
      { db: testbed.ctx.db, decrypt: createSecretDecryptor(testbed.ctx.encryption), onAbandoned: () => abandoned++ },
      { total, defaultPerEndpoint: each, byEndpoint },
    )
  return {
    get testbed() {
      return testbed
    },
    get endpoint() {
      return endpoint
    },
    get abandoned() {
      return abandoned
    },
    claim,
    claimOne: async () => {
      const [delivery] = (await claim()).jobs
      assert.ok(delivery)
      return delivery
    },
    expireLeases: () =>
      testbed.ctx.db.query(sql`
        UPDATE webhook_deliveries
        SET leased_until = date_trunc('milliseconds', now()) - interval '1 second'
        WHERE leased_until IS NOT NULL
      `),
    reload: async () => {
      const found = await findEndpoint(testbed.ctx.db, testbed.workspaceId, endpoint.id)
      assert.ok(found)
      return found
    },
  }
}
