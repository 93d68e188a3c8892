/**
 * The set-up of webhook tests: a database and a Redis of their own, a workspace, and functions that create events for
 * endpoints. Events are written as `src/messages` writes them: in one statement with their deliveries, followed by a
 * notification to the sender.
 */
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import { systemClock } from '#src/platform/clock.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/stores/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import { openRedis } from '#src/stores/redis.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { storeMessages } from '#src/messages/message-store.ts'
import { sql } from '#src/stores/sql.ts'
import { createEndpoint, notifySender, type Endpoint } from '#src/webhooks/endpoints.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { createDatabase, startRedis, type TestDatabase, type TestServer } from './stores.ts'

/** For a process that the test starts. */
export const MASTER_KEY = '01'.repeat(32)

export interface WebhookTestbed {
  readonly ctx: Context
  readonly redisUrl: string
  readonly redis: TestServer
  readonly workspaceId: string
  /** An endpoint and its secret. */
  register(url: string, eventTypes?: readonly string[]): Promise<{ endpoint: Endpoint; secret: string }>
  /** Stores an event of a message and what is due for it; the ids of the events, oldest first. */
  emit(count: number, event?: { readonly type?: string; readonly data?: object }): Promise<string[]>
  /** States of all deliveries of an event. */
  states(eventId: string): Promise<string[]>
  attempts(eventId: string): Promise<LoggedAttempt[]>
  stop(): Promise<void>
}

export interface LoggedAttempt {
  readonly attempt: number
  readonly status: number | null
  readonly error: string | null
  readonly response_body: string | null
  readonly request_headers: Record<string, string>
  readonly request_body: string
  readonly url: string
}

/**
 * `env` are settings as they would stand in the environment.
 * Loopback may be reached and retry times are a thousandth, unless they say otherwise.
 * `postgres` is a server of the test's own, to be crashed and stopped by it.
 */
export async function createWebhookTestbed(
  env: Readonly<Record<string, string>> = {},
  postgres?: TestServer,
): Promise<WebhookTestbed> {
  const [database, redis] = await Promise.all([
    postgres === undefined ? createDatabase() : withoutDrop(postgres),
    startRedis(),
  ])
  const log = pino({ level: 'silent' })
  const stores = { DATABASE_URL: database.url, REDIS_URL: redis.url }
  const config = loadConfig({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', RETRY_SCALE: '0.001', ...stores, ...env })
  const [db, encryption] = [openDb(database.url, log), createEncryption(Buffer.from(MASTER_KEY, 'hex'))]
  const ctx: Context = {
    config,
    db,
    redis: openRedis(redis.url, log),
    clock: systemClock,
    log,
    encryption,
    tracer: null,
  }
  const { id: workspaceId } = await createWorkspace(ctx.db, { name: 'test', plan: 'launch' })
  const messageId = await storeMessage(ctx, workspaceId)
  return {
    ctx,
    redisUrl: redis.url,
    redis,
    workspaceId,
    register: async (url, eventTypes = ['*']) => {
      const made = await createEndpoint(ctx, workspaceId, { url, description: null, eventTypes })
      if (made === null) throw new Error('the workspace is full')
      return made
    },
    emit: (count, event) =>
      emit(ctx, { workspaceId, messageId, count, type: 'email.delivered', data: { code: 250 }, ...event }),
    states: async (eventId) => {
      const { rows } = await ctx.db.query<{ state: string }>(
        'SELECT state FROM webhook_deliveries WHERE event_id = $1 ORDER BY endpoint_id',
        [eventId],
      )
      return rows.map((row) => row.state)
    },
    attempts: async (eventId) => {
      const { rows } = await ctx.db.query<LoggedAttempt>(
        'SELECT * FROM webhook_attempts WHERE event_id = $1 ORDER BY endpoint_id, attempt',
        [eventId],
      )
      return rows
    },
    stop: async () => {
      ctx.redis.disconnect()
      await ctx.db.close()
      await Promise.all([database.drop(), redis.stop()])
    },
  }
}

function withoutDrop({ url }: TestServer): TestDatabase {
  return { url, drop: () => Promise.resolve() }
}

/** The message that all events are about: stored before there are endpoints, so its own events are due nowhere. */
async function storeMessage(ctx: Context, workspaceId: string): Promise<string> {
  const id = newId()
  const anna = { email: 'anna@example.com', name: 'Anna' }
  await ctx.db.transaction((tx) =>
    storeMessages(tx, [
      {
        id,
        workspaceId,
        apiKeyId: null,
        domainId: null,
        tier: 'instant',
        from: { email: 'shop@example.org', name: null },
        replyTo: null,
        to: [anna],
        cc: [],
        recipients: [{ address: anna.email, domain: 'example.com', kind: 'to' }],
        subject: 'Grüße',
        html: '<p>x</p>',
        text: null,
        headers: [],
        attachments: [],
        tags: [],
        metadata: { order: 7 },
        trackOpens: null,
        trackClicks: null,
        scheduledAt: null,
        timezone: null,
        expiresAt: null,
        createdAt: new Date(ctx.clock.now()),
        quota: null,
        idempotency: null,
      },
    ]),
  )
  return id
}

interface EventsToEmit {
  readonly workspaceId: string
  readonly messageId: string
  readonly count: number
  readonly type: string
  readonly data: object
}

async function emit(ctx: Context, { workspaceId, messageId, count, type, data }: EventsToEmit): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId())
  await ctx.db.query(
    sql`
      WITH new_events AS (
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
        SELECT id, $2, $3, $4, 0, nr, 'anna@example.com', $5, now()
        FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, nr)
        RETURNING id, workspace_id, type, created_at
      ),
      ${newDeliveries('e.created_at')}
      SELECT
    `,
    [ids, workspaceId, type, messageId, data],
  )
  notifySender(ctx)
  return ids
}
