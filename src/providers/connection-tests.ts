/**
 * Connection tests of accounts. The api and commands have no SMTP connections, so they request a test from an outbound
 * process: a row, and a Redis message to wake the processes. The first process that claims the request runs the test
 * and stores the result. Requests during a running test share its result.
 *
 * No outbound process runs, or it dies: the request times out, and the next request starts a new test.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { isUuid, newId } from '#src/platform/id.ts'
import { ACCOUNT_TESTS_CHANNEL } from '#src/queue/keys.ts'
import { hasOutbound } from '#src/queue/lease-observer.ts'
import { sql } from '#src/stores/sql.ts'
import type { Account } from './accounts.ts'

export const TEST_STEPS = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail'] as const
export type TestStep = (typeof TEST_STEPS)[number]

export interface TestResult {
  readonly ok: boolean
  /** In order; if the test failed, the last step is the failed one. */
  readonly steps: readonly { readonly step: TestStep; readonly ok: boolean; readonly detail: string }[]
  /** The SMTP session, without secrets. */
  readonly conversation: string
  readonly durationMs: number
  /** ISO 8601. */
  readonly at: string
}

type TestDeps = Pick<Context, 'db' | 'redis' | 'clock'>

/** A test ends within this time, whatever the server does. */
export const TEST_LIMIT_MS = 25_000
const TIMEOUT_SECONDS = 30
const POLL_MS = 100
const POLLS_PER_NOTIFICATION = 10
const POLLS_UNTIL_NO_PROCESS = 10

/** Returns the result; null when no outbound process runs or none finished the test in time. */
export async function testAccount(
  ctx: TestDeps,
  account: Pick<Account, 'id' | 'workspaceId'>,
  limitMs = TIMEOUT_SECONDS * 1000,
): Promise<TestResult | null> {
  await requestTest(ctx, account)
  const end = performance.now() + limitMs
  for (let polls = 0; performance.now() < end; polls++, await sleep(POLL_MS)) {
    // a result that exists now is from a test that was requested with this one, or after it
    const {
      rows: [row],
    } = await ctx.db.query<{ testId: string; result: TestResult | null }>(
      'SELECT test_id AS "testId", test_result AS result FROM connected_accounts WHERE id = $1',
      [account.id],
    )
    if (row === undefined) return null
    if (row.result !== null) return row.result
    // no outbound process runs, and none has just started
    if (polls === POLLS_UNTIL_NO_PROCESS && !(await hasOutbound(ctx.db))) return null
    // repeated, because a message is lost while a process starts or Redis is unavailable
    if (polls % POLLS_PER_NOTIFICATION === 0)
      await ctx.redis.publish(ACCOUNT_TESTS_CHANNEL, `${account.id} ${row.testId}`).catch(() => undefined)
  }
  return null
}

/** A client that creates an account waits for its test. */
const FIRST_TEST_MS = 10_000

/** Tests new credentials at once; null when no outbound process runs now, or the test takes longer. */
export async function testNewCredentials(
  ctx: TestDeps,
  account: Pick<Account, 'id' | 'workspaceId'>,
): Promise<TestResult | null> {
  return (await hasOutbound(ctx.db)) ? testAccount(ctx, account, FIRST_TEST_MS) : null
}

/** Creates a request, unless a test is running. */
async function requestTest(ctx: TestDeps, { id, workspaceId }: Pick<Account, 'id' | 'workspaceId'>): Promise<void> {
  const now = ctx.clock.now()
  await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET test_id = CASE WHEN test_result IS NULL AND test_asked_at > $4 THEN test_id ELSE $3 END,
        test_taken_at = CASE WHEN test_result IS NULL AND test_asked_at > $4 THEN test_taken_at END,
        test_asked_at = CASE WHEN test_result IS NULL AND test_asked_at > $4 THEN test_asked_at ELSE $5 END,
        test_result = NULL
      WHERE id = $1 AND workspace_id = $2
    `,
    [id, workspaceId, newId(now), new Date(now - TIMEOUT_SECONDS * 1000), new Date(now)],
  )
}

/** Claims the request; true when no other process has claimed it. */
export async function claimTest(ctx: TestDeps, { accountId, testId }: TestRequest): Promise<boolean> {
  const { rowCount } = await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET test_taken_at = $3
      WHERE id = $1 AND test_id = $2 AND test_taken_at IS NULL AND test_result IS NULL
    `,
    [accountId, testId, new Date(ctx.clock.now())],
  )
  return rowCount === 1
}

export interface TestRequest {
  readonly accountId: string
  readonly testId: string
}

/** Parses a Redis message; null for invalid text. */
export function parseTestRequest(message: string): TestRequest | null {
  const [accountId = '', testId = ''] = message.split(' ')
  return isUuid(accountId) && isUuid(testId) ? { accountId, testId } : null
}

export async function storeTestResult(
  ctx: TestDeps,
  { accountId, testId }: TestRequest,
  result: TestResult,
): Promise<void> {
  await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET test_result = $3, verified_at = CASE WHEN $4 THEN $5 ELSE verified_at END
      WHERE id = $1 AND test_id = $2
    `,
    [accountId, testId, JSON.stringify(result), result.ok, new Date(ctx.clock.now())],
  )
}
