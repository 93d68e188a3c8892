/** A connected account as the API shows it. The secret is never part of it. Pure. */
import { z } from 'zod'
import { SECURITIES } from '#config/oauth-providers.ts'
import { ACCOUNT_STATUSES, accountStatus, type Account } from '#src/providers/accounts.ts'
import { TEST_STEPS, type TestResult } from '#src/providers/connection-tests.ts'
import { timestamp } from '#api/http/response-schemas.ts'

const count = z.int().min(1)

export const accountSchema = z
  .object({
    id: z.uuid(),
    object: z.literal('account'),
    type: z.enum(['smtp', 'oauth']),
    provider: z.string().nullable().meta({ description: 'the OAuth provider; null for SMTP credentials' }),
    name: z.string(),
    host: z.string(),
    port: count,
    security: z.enum(SECURITIES),
    username: z.string(),
    addresses: z.array(z.string()).meta({ description: 'the addresses allowed in From' }),
    status: z.enum(ACCOUNT_STATUSES).meta({
      description: 'untested: no test of these credentials has succeeded; its mail is attempted nevertheless',
    }),
    paused_reason: z.string().nullable(),
    paused_at: timestamp.nullable(),
    connections: count,
    messages_per_connection: count,
    messages_per_minute: count.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Account' })

const testStep = z.object({ step: z.enum(TEST_STEPS), ok: z.boolean(), detail: z.string() })

export const connectionTestSchema = z
  .object({
    ok: z.boolean(),
    steps: z.array(testStep).meta({ description: 'in order; if `ok` is false, the last one failed' }),
    conversation: z.string().meta({ description: 'the SMTP conversation, without secrets' }),
    duration_ms: z.int(),
    tested_at: timestamp,
  })
  .meta({ id: 'AccountTest' })

/** The response to new credentials. */
export const testedAccountSchema = accountSchema
  .extend({ test: connectionTestSchema.nullable().meta({ description: 'of new credentials; null if there is none' }) })
  .meta({ id: 'TestedAccount' })

export function presentAccount(account: Account): Record<string, unknown> {
  const { limits } = account
  return {
    id: account.id,
    object: 'account',
    type: account.kind,
    provider: account.provider,
    name: account.name,
    host: account.host,
    port: account.port,
    security: account.security,
    username: account.username,
    addresses: account.addresses,
    status: accountStatus(account),
    paused_reason: account.pausedReason,
    paused_at: account.pausedAt?.toISOString() ?? null,
    connections: limits.connections,
    messages_per_connection: limits.messagesPerConnection,
    messages_per_minute: limits.messagesPerMinute,
    created_at: account.createdAt.toISOString(),
    updated_at: account.updatedAt.toISOString(),
  }
}

export function presentConnectionTest({
  ok,
  steps,
  conversation,
  durationMs,
  at,
}: TestResult): Record<string, unknown> {
  return { ok, steps, conversation, duration_ms: durationMs, tested_at: at }
}
